import AgentKit

/// Where tokens are handed in and discarded: by the agent where one runs, else in the state directory.
struct SessionDesk {
    private let link: AgentLink
    private let store: SessionStore

    init(_ link: AgentLink) {
        self.link = link
        store = SessionStore(stateDirectory: link.configuration.state)
    }

    /// Keeps a session.
    ///
    /// - Returns: whether an agent was told.
    func signIn(_ session: StoredSession) async throws -> Bool {
        do {
            try await link.client.signIn(token: session.token, user: session.user)
            return true
        } catch ControlError.notRunning {
            try store.save(session)
            return false
        }
    }

    /// Discards the session; none is no error.
    ///
    /// - Returns: whether an agent was told.
    func signOut() async throws -> Bool {
        do {
            try await link.client.signOut()
            return true
        } catch ControlError.notRunning {
            try store.remove()
            return false
        }
    }

    /// Where a token comes from that goes before the kept one; nil where none does. A running agent knows best, since
    /// its environment is not this program's.
    func precedence() async -> TokenOrigin? {
        let health = try? await link.client.health()
        let origin = health.map { $0.token.flatMap(TokenOrigin.init) } ?? ownView
        return origin == .login ? nil : origin
    }

    private var ownView: TokenOrigin? {
        TokenOrigin(environment: link.surroundings.environment, configuration: link.configuration)
    }

    /// Says that another token takes precedence.
    func warn(_ precedence: TokenOrigin?, _ consequence: String) {
        let source: String? =
            switch precedence {
            case .environment: "OUTBOX_TOKEN is set"
            case .tokenFile: "remote.token_file (\(link.configuration.remote.tokenFile ?? "")) holds a token"
            case .login, nil: nil
            }
        guard let source else { return }
        Output.error.attempt("outbox: \(DisplayText.escaped(source)) and takes precedence: \(consequence)")
    }
}
