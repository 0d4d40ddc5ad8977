import Glibc
import LinuxSystem
import Logging
import ServiceLifecycle
import Synchronization
import SystemPackage
import TestSupport

@testable import ControlAPI

/// A control server with scripted backends, on a real socket in a temporary directory.
struct ControlBench {
    let directory: TemporaryDirectory
    let backend = ScriptedBackend()
    let sources = ScriptedSources()
    let avatars = ScriptedAvatars()
    let profile = ScriptedProfile()
    /// What the server said about its connections.
    let troubles = Recorded()
    let socket: String
    let client: ControlClient
    private let hasMirror: Bool

    /// - Parameter hasMirror: whether the directory of avatars can be used.
    init(hasMirror: Bool = true) throws {
        self.hasMirror = hasMirror
        directory = try TemporaryDirectory(prefix: "control")
        socket = directory.path("control.sock")
        client = ControlClient(socket: socket, stateDirectory: directory.path)
    }

    /// Serves while `body` runs, then shuts down the way the agent does.
    func serving<Value: Sendable>(_ body: @Sendable @escaping () async throws -> Value) async throws -> Value {
        let group = serviceGroup()
        return try await withThrowingTaskGroup(of: Value?.self) { tasks in
            tasks.addTask {
                try await group.run()
                return nil
            }
            tasks.addTask {
                try await self.untilServing()
                return try await body()
            }
            var result: Value?
            while let next = try await tasks.next() {
                guard let next else { break }
                result = next
                await group.triggerGracefulShutdown()
            }
            guard let result else { throw CancellationError() }
            return result
        }
    }

    func serviceGroup() -> ServiceGroup {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let server = ControlServer(
            socket: socket, backend: backend, sources: sources,
            pictures: .init(avatars: hasMirror ? avatars : nil, profile: profile), logger: logger,
            onTrouble: { [troubles] message in troubles.withLock { $0.append(message) } })
        return ServiceGroup(configuration: .init(services: [.init(service: server)], logger: logger))
    }

    func untilServing() async throws {
        try await Poll.until("the control server") { (try? await client.health()) != nil }
    }

    /// Sends one request and returns the status and the whole body.
    func ask(_ method: String, _ target: String, body: String? = nil) async throws -> (status: Int, body: String) {
        let request = ControlRequest(socket: socket, method: method, target: target, body: body.map { Array($0.utf8) })
        let reply = try await onThread { request.perform() }.get()
        return (reply.status, String(decoding: reply.body, as: UTF8.self))
    }

    /// Sends one request and returns the raw reply, including the head.
    func exchange(_ target: String, fields: [String] = []) async throws -> String {
        try await onThread {
            Result { () throws(Errno) in
                let descriptor = try UnixSocket.connect(to: socket)
                let head = ["GET \(target) HTTP/1.1", "Host: localhost", "Connection: close"] + fields
                try writeAll(Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8), to: descriptor.rawValue)
                return Self.everything(from: descriptor.rawValue)
            }
        }.get()
    }

    /// Connects and sends one request after the other, without waiting for replies.
    func send(_ targets: String...) throws -> Descriptor {
        let descriptor = try UnixSocket.connect(to: socket)
        for target in targets {
            try writeAll(Array("GET \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8), to: descriptor.rawValue)
        }
        return descriptor
    }

    /// Shuts down the sending side and reads the rest of the server's reply.
    func finish(_ connection: SharedDescriptor) async -> String {
        await onThread {
            withExtendedLifetime(connection) {
                shutdown(connection.rawValue, Int32(SHUT_WR))
                return Self.everything(from: connection.rawValue)
            }
        }
    }

    private static func everything(from descriptor: Int32) -> String {
        var reply: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 { reply += buffer[..<count] }
        return String(decoding: reply, as: UTF8.self)
    }

    private func onThread<Value: Sendable>(_ work: @Sendable @escaping () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            startThread(name: "request") { continuation.resume(returning: work()) }
        }
    }
}

/// Messages in the order of their arrival; `nil` for the end of a trouble.
final class Recorded: Sendable {
    private let messages = Mutex<[String?]>([])

    func withLock<Value: Sendable>(_ body: (inout [String?]) -> Value) -> Value {
        messages.withLock { messages in body(&messages) }
    }
}
