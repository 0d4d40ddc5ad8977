import FoundationEssentials
import LinuxSystem
import SystemPackage

/// Why the control interface gave no answer.
public enum ControlError: Error, Equatable, Sendable, CustomStringConvertible {
    /// No agent listens there.
    case notRunning(socket: String)
    /// The socket belongs to somebody else.
    case notAllowed(socket: String, reason: String)
    /// The agent is there and its answer is no use.
    case failed(reason: String)

    /// What failed, and what to do.
    public var description: String {
        switch self {
        case .notRunning(let socket): "outbox is not running (no answer on \(socket)); start it with `outbox run`"
        case .notAllowed(let socket, let reason):
            "the control socket \(socket) can't be used: \(reason); run this as the agent's user"
        case .failed(let reason): "the agent gave no useful answer: \(reason)"
        }
    }
}

/// Asks a running agent over its Unix socket.
public struct ControlClient: Sendable {
    private let socket: String
    private let thread = SerialThread(name: "control-client")

    /// A client of the agent that listens on a socket.
    public init(socket: String) {
        self.socket = socket
    }

    /// How the agent is.
    public func health() async throws(ControlError) -> AgentHealth {
        try await get("/v1/health")
    }

    /// Every path the agent knows, ordered by path.
    public func files() async throws(ControlError) -> [FileEntry] {
        struct List: Decodable {
            var files: [FileEntry]
        }
        return try await get("/v1/files", as: List.self).files
    }

    private func get<Value: Decodable>(_ target: String, as type: Value.Type = Value.self) async throws(ControlError)
        -> Value
    {
        let request = ControlRequest(socket: socket, target: target)
        let result: Result<[UInt8], ControlError> = await withCheckedContinuation { continuation in
            thread.run { continuation.resume(returning: request.perform()) }
        }
        let body = try result.get()
        do {
            return try JSONDecoder().decode(type, from: Data(body))
        } catch {
            throw .failed(reason: "\(target): \(error)")
        }
    }
}
