import Synchronization
import TestSupport

/// Listens for a server in memory that a test kills and starts again at the same port.
final class KillableListener: Sendable {
    let port: UInt16
    private let make: @Sendable (_ port: UInt16) throws -> ScriptedServer
    private let current: Mutex<ScriptedServer?>

    /// Starts listening.
    ///
    /// - Parameter make: starts a listener at a port; 0: any free port.
    init(_ make: @escaping @Sendable (_ port: UInt16) throws -> ScriptedServer) throws {
        let first = try make(0)
        port = first.port
        self.make = make
        current = Mutex(first)
    }

    deinit { kill() }

    var url: String { "http://127.0.0.1:\(port)" }

    /// Closes the port and all connections, and waits for the requests under way to end. Idempotent.
    func kill() {
        let server = current.withLock { current in
            defer { current = nil }
            return current
        }
        server?.stop()
    }

    /// Listens again, after `kill`.
    func start() throws {
        let server = try make(port)
        current.withLock { $0 = server }
    }
}
