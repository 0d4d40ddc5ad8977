package import AgentConfiguration

extension EffectiveConfiguration {
    /// Returns why the agent must not start: a token exists that must not be sent to this server; nil if all is well.
    ///
    /// - Parameter environment: The environment variables, of which `OUTBOX_TOKEN` matters.
    package func objectionToToken(environment: [String: String]) -> ConfigurationError? {
        let credentials = Credentials(configuration, environment: environment)
        return credentials.bearerToken() == nil ? nil : tokenObjection
    }
}
