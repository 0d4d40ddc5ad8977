package import Foundation
import Glibc

/// Sends single requests over the agent's Unix socket, without the agent's own client, because that client is under
/// test.
package enum ControlSocket {
    /// Sends `GET target`. Returns nil if nobody listens or the answer is not HTTP.
    package static func get(_ target: String, socket path: String) -> (status: Int, body: Data)? {
        ask("GET", target, socket: path)
    }

    /// Sends one request and reads until the connection closes, 60 s pass, or `isEnough` returns true. Returns nil if
    /// nobody listens or the answer is not HTTP.
    ///
    /// - Parameters:
    ///   - headers: Additional header lines.
    ///   - isEnough: Called with all text so far, for answers without an end.
    package static func ask(
        _ method: String, _ target: String, headers: [String] = [], body: String = "", socket path: String,
        isEnough: (String) -> Bool = { _ in false }
    ) -> (status: Int, body: Data)? {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        guard withAddress(path, { connect(descriptor, $0, $1) }) == 0 else { return nil }

        let lines = ["\(method) \(target) HTTP/1.1", "Host: localhost", "Connection: close"] + headers
        let length = method == "GET" ? [] : ["Content-Length: \(body.utf8.count)"]
        let request = Array(((lines + length).joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
        guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else { return nil }
        var reply = Data()
        var buffer = [UInt8](repeating: 0, count: 65536)
        // A stream with keep-alive messages never reaches the socket's own timeout.
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline, case let count = recv(descriptor, &buffer, buffer.count, 0), count > 0 {
            reply.append(contentsOf: buffer[..<count])
            if isEnough(String(decoding: reply, as: UTF8.self)) { break }
        }
        guard let end = reply.range(of: Data("\r\n\r\n".utf8)),
            let status = String(decoding: reply.prefix(12), as: UTF8.self).split(separator: " ").last.flatMap({
                Int($0)
            })
        else { return nil }
        return (status, reply[end.upperBound...])
    }

    /// Binds a listening socket to `path`, for tests in which a socket is in the way. The caller closes the socket.
    package static func listen(at path: String) -> Int32 {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard withAddress(path, { bind(descriptor, $0, $1) }) == 0 else {
            close(descriptor)
            return -1
        }
        return descriptor
    }

    private static func withAddress(
        _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return -1 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
