import Glibc
import LinuxSystem
import Synchronization
import TestSupport

@testable import ControlAPI

/// Reads `/v1/events` on a thread of its own, as text.
final class EventReader: Sendable {
    private struct State {
        var text = ""
        var isOver = false
    }

    private let state = Mutex(State())
    private let descriptor: SharedDescriptor

    init(socket: String, lastEventID: String? = nil) throws {
        descriptor = SharedDescriptor(try UnixSocket.connect(to: socket))
        let last = lastEventID.map { "Last-Event-ID: \($0)\r\n" } ?? ""
        let head = Array("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\(last)\r\n".utf8)
        _ = send(descriptor.rawValue, head, head.count, Int32(MSG_NOSIGNAL))
        startThread(name: "events") { [self] in read() }
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = recv(descriptor.rawValue, &buffer, buffer.count, 0), count > 0 {
            let text = String(decoding: buffer[..<count], as: UTF8.self)
            state.withLock { $0.text += text }
        }
        state.withLock { $0.isOver = true }
    }

    /// All text received so far, including the head and the chunk sizes.
    var text: String { state.withLock(\.text) }
    /// Whether the server closed the connection.
    var isOver: Bool { state.withLock(\.isOver) }

    /// Waits until the text contains a part.
    func wait(for part: String) async throws {
        try await Poll.until("\(part) among the events", lastState: { self.text }) { text.contains(part) }
    }
}
