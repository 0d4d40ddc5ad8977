/// Why the control interface gave no answer.
package enum ControlError: Error, Equatable, Sendable, CustomStringConvertible {
    /// No agent listens on the socket.
    case notRunning(socket: String)
    /// The user may not access the socket.
    case notAllowed(socket: String, reason: String)
    /// A program of another user listens on the socket. Nothing was sent.
    case notTrusted(socket: String, user: String)
    /// The agent refused the request; `code` is a short snake_case word (docs/http.md).
    case refused(code: String, reason: String)
    /// The agent closed the connection before its answer was complete: it is ending, or was killed.
    case cutOff
    /// The agent's answer can't be used.
    case failed(reason: String)

    /// What failed, and what to do next.
    package var description: String {
        switch self {
        case .notRunning(let socket): "the agent is not running (no answer on \(socket)); start it with `outbox run`"
        case .notAllowed(let socket, let reason):
            "the control socket \(socket) can't be used: \(reason); run this as the agent's user"
        case .notTrusted(let socket, let user):
            "a program of \(user) listens on the control socket \(socket), so nothing was sent to it; correct control.socket, "
                + "or run this as that user if it is their agent"
        case .refused(_, let reason): "the agent refused: \(reason)"
        case .cutOff: "the agent ended before it answered; start it with `outbox run` if it does not run"
        case .failed(let reason): "the agent gave no useful answer: \(reason)"
        }
    }
}
