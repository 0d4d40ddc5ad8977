/// Where a bearer token comes from, the first that has one going before the others.
public enum TokenOrigin: String, CaseIterable, Sendable {
    /// OUTBOX_TOKEN in the agent's environment.
    case environment
    /// `remote.token_file`.
    case tokenFile = "token_file"
    /// What `outbox login` keeps.
    case login

    /// Where the token in use comes from by an environment and a configuration; nil where there is none. Reads files.
    public init?(environment: [String: String], configuration: Configuration) {
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
