import Glibc
import TestSupport

/// A listening socket that accepts a connection only in ``acceptAndSend(_:)``.
final class SilentListener {
    struct CannotListen: Error {}

    private let descriptor: Int32
    private var address = sockaddr_in()
    private var others: [Int32] = []

    var url: String { "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))" }

    init(backlog: Int32, receiveBuffer: Int32? = nil) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        if var size = receiveBuffer {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withGenericAddress { generic in
            bind(descriptor, generic, length) == 0 && listen(descriptor, backlog) == 0
                && getsockname(descriptor, generic, &length) == 0
        }
        if !isListening { throw CannotListen() }
    }

    deinit {
        for other in others { close(other) }
        close(descriptor)
    }

    /// Fills the queue of pending connections. The kernel drops later connection attempts (man 2 listen).
    func fillBacklog() throws {
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        for _ in 0..<4 {
            let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            let other = socket(AF_INET, kind, 0)
            others.append(other)
            _ = withGenericAddress { connect(other, $0, length) }
        }
    }

    /// Accepts one connection, sends `text` and leaves the connection open.
    func acceptAndSend(_ text: String) async throws {
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        let other = try await Poll.value(
            "a connection",
            look: { [descriptor] in
                let accepted = accept(descriptor, nil, nil)
                return accepted >= 0 ? accepted : nil
            })
        others.append(other)
        let bytes = Array(text.utf8)
        // Ignores errors: the reader may have closed the connection.
        _ = send(other, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    private func withGenericAddress<Value>(_ body: (UnsafeMutablePointer<sockaddr>) -> Value) -> Value {
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
        }
    }
}
