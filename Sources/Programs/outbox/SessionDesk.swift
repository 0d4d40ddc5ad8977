import AgentConfiguration
import Text
import ControlAPI
import Reports
import Session

/// Stores and discards tokens: through a running agent, otherwise directly in the state directory.
struct SessionDesk {
    private let link: AgentLink
    private let store: SessionStore

    init(_ link: AgentLink) {
        self.link = link
        store = SessionStore(stateDirectory: link.configuration.state)
    }

    /// The agent that will use a stored session.
    enum Taker {
        /// No agent runs; the next one will use the session.
        case next
        /// The running agent.
        case running
        /// The running agent, after it has executed itself again for another account.
        case returning
    }

    /// Stores a session.
    func signIn(_ session: StoredSession) async throws -> Taker {
        do {
            return try await link.client.signIn(token: session.token, user: session.user) ? .returning : .running
        } catch ControlError.notRunning {
            try store.save(session)
            return .next
        }
    }

    /// Time limits for an agent that executes itself again: in total, and without an open socket.
    private static let longestReturn = Duration.seconds(300)
    private static let longestSilence = Duration.seconds(60)

    /// Waits until the agent serves an account.
    ///
    /// - Throws: `CommandFailure.tryAgain` if the agent does not return.
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
                // Nobody listens between the agent's end and its restart.
            } catch ControlError.refused(_, let reason) {
                throw CommandFailure.tryAgain("the token is stored, but \(reason)")
            } catch {
                // The connection broke, or the agent is reading a large ledger.
                lastAnswer = pace.elapsed
            }
            // Pause after a slow answer too: it came from an agent about to end or start.
            try await pace.rest(until: pace.elapsed + .milliseconds(200))
        }
        throw CommandFailure.tryAgain(
            "the token is stored, but the agent has not restarted for \(user.map(DisplayText.escaped) ?? "the new account"); "
                + "see its log, or start it with `outbox run`")
    }

    /// Discards the session. A missing session is no error.
    ///
    /// - Returns: Whether a running agent discarded the session.
    func signOut() async throws -> Bool {
        do {
            try await link.client.signOut()
            return true
        } catch ControlError.notRunning {
            try store.remove()
            return false
        }
    }

    /// The origin of a token that takes precedence over the stored one; nil if there is none. Asks a running agent
    /// first, because its environment differs from this process's.
    func precedence() async -> TokenOrigin? {
        let health = try? await link.client.health()
        let origin = health.map { $0.token.flatMap(TokenOrigin.init) } ?? ownView
        return origin == .login ? nil : origin
    }

    private var ownView: TokenOrigin? {
        TokenOrigin(environment: link.surroundings.environment, configuration: link.configuration)
    }

    /// Warns that another token takes precedence.
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
