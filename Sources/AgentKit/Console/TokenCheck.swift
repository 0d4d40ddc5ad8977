extension EffectiveConfiguration {
    /// Why the agent must not begin: a token is at hand that must not be sent to this server; nil where all is well.
    ///
    /// - Parameter environment: the environment variables; `OUTBOX_TOKEN` is looked for in them.
    public func objectionToToken(environment: [String: String]) -> ConfigurationError? {
        let credentials = Credentials(
            environmentToken: environment["OUTBOX_TOKEN"], tokenFile: configuration.remote.tokenFile,
            stateDirectory: configuration.state)
        return credentials.bearerToken() == nil ? nil : tokenObjection
    }
}
