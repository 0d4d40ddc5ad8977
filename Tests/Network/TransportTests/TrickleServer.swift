import Foundation
import Glibc

/// A server at the end of a slow link: reads a few bytes at a time from a small receive buffer.
final class TrickleServer: Sendable {
    struct CannotListen: Error {}

    let url: String
    private let listener: Int32

    init(bytesPerPause: Int, pause: Duration) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var small: Int32 = 4096
        setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(listener, generic, length) == 0 && listen(listener, 8) == 0
                    && getsockname(listener, generic, &length) == 0
            }
        }
        if !isListening { throw CannotListen() }
        self.listener = listener
        url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
        let microseconds = UInt32(pause / .microseconds(1))
        Thread.detachNewThread { Self.serve(listener, bytesPerPause, microseconds) }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private static func serve(_ listener: Int32, _ bytesPerPause: Int, _ pause: UInt32) {
        let connection = accept(listener, nil, nil)
        close(listener)
        guard connection >= 0 else { return }
        defer { close(connection) }
        var head: [UInt8] = []
        var body = 0
        var buffer = [UInt8](repeating: 0, count: bytesPerPause)
        var expected = Int.max
        while body < expected {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            if expected == .max {
                head += buffer[..<count]
                let text = String(decoding: head, as: UTF8.self)
                guard let end = text.firstRange(of: "\r\n\r\n"),
                    let field = text.firstRange(of: "Content-Length: "),
                    let value = Int(text[field.upperBound...].prefix { $0.isNumber })
                else { continue }
                expected = value
                body = text[end.upperBound...].utf8.count
            } else {
                body += count
            }
            usleep(pause)
        }
        let reply = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)
        _ = send(connection, reply, reply.count, Int32(MSG_NOSIGNAL))
        _ = recv(connection, &buffer, buffer.count, 0)
    }
}
