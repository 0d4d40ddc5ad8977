import AgentKit

/// Where tokens are handed in and discarded: by the agent where one runs, else in the state directory.
struct SessionDesk {
    private let link: AgentLink
    private let store: SessionStore

    init(_ link: AgentLink) {
        self.link = link
        store = SessionStore(stateDirectory: link.configuration.state)
    }

    /// Who works with a session that was handed in.
    enum Taker {
        /// No agent runs; the next one will.
        case next
        /// The running agent.
        case running
        /// The running agent, once it is back: it begins anew for another account.
        case returning
    }

    /// Keeps a session.
    func signIn(_ session: StoredSession) async throws -> Taker {
        do {
            return try await link.client.signIn(token: session.token, user: session.user) ? .returning : .running
        } catch ControlError.notRunning {
            try store.save(session)
            return .next
        }
    }

    /// How long an agent that begins anew may take altogether, and how long it may listen to nobody.
    private static let longestReturn = Duration.seconds(300)
    private static let longestSilence = Duration.seconds(10)

    /// Waits until the agent answers for an account.
    ///
    /// - Throws: `CommandFailure.tryAgain` where it does not come back.
    func waitForReturn(of user: String?) async throws {
        var pace = PollPace()
        var lastAnswer = pace.elapsed
        while pace.elapsed < Self.longestReturn, pace.elapsed - lastAnswer < Self.longestSilence {
            pace.ask()
            do {
                let health = try await link.client.health()
                if health.account == user { return }
                lastAnswer = pace.elapsed
            } catch ControlError.notRunning {
                // Between its end and its new beginning nobody listens.
            } catch {
                // The connection was cut, or the agent is reading a large ledger.
                lastAnswer = pace.elapsed
            }
            // Also after a slow answer: that one was of an agent that was just ending or beginning.
            try await pace.rest(until: pace.elapsed + .milliseconds(200))
        }
        throw CommandFailure.tryAgain(
            "the token is kept, but the agent is not back for \(user.map(DisplayText.escaped) ?? "the new account"); "
                + "see its log, or start it with `outbox run`")
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
