package import AgentConfiguration

/// Where a bearer token comes from. The first origin that has a token wins.
package enum TokenOrigin: String, CaseIterable, Sendable {
    /// OUTBOX_TOKEN in the agent's environment.
    case environment
    /// `remote.token_file`.
    case tokenFile = "token_file"
    /// The file that `outbox login` writes.
    case login

    /// Finds where the token in use comes from; `nil` without a token. Reads files.
    package init?(environment: [String: String], configuration: Configuration) {
        let isThere: (TokenOrigin) -> Bool = { origin in
            let credentials = Credentials(
                environmentToken: origin == .environment ? environment["OUTBOX_TOKEN"] : nil,
                tokenFile: origin == .tokenFile ? configuration.remote.tokenFile : nil,
                stateDirectory: origin == .login ? configuration.state : "/nonexistent")
            return credentials.bearerToken() != nil
        }
        guard let origin = Self.allCases.first(where: isThere) else { return nil }
        self = origin
    }
}
