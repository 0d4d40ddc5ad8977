import AgentSupport
import Glibc
import LinuxSystem
import SystemPackage

/// Sends one request over a Unix socket and blocks. HTTP/1.1 with `Connection: close` (RFC 9112) is all that a
/// command needs.
struct ControlRequest: Sendable {
    let socket: String
    /// The users whose agents are trusted.
    var peers = ControlPeers()
    var method = "GET"
    let target: String
    /// Sent as JSON; `nil` for no body.
    var body: [UInt8]?
    /// Additional seconds that the agent may take, because the request asks it to wait.
    var wait: Int32 = 0

    /// The agent's answer.
    struct Reply: Equatable, Sendable {
        var status: Int
        var body: [UInt8]
    }

    /// Seconds without a byte until the request times out.
    private var patience: Int32 { 30 + wait }

    /// Sends the request and returns the reply, regardless of its status.
    func perform() -> Result<Reply, ControlError> {
        do throws(Errno) {
            let descriptor = try UnixSocket.connect(to: socket)
            // A request may carry a token. Check the listener before sending anything.
            let listener = try UnixSocket.listener(of: descriptor)
            guard peers.isTrusted(listener) else {
                return .failure(.notTrusted(socket: socket, user: UserName.shown(listener)))
            }
            try send(head + (body ?? []), to: descriptor.rawValue)
            return reply(in: try receive(from: descriptor.rawValue))
        } catch {
            switch error {
            case .noSuchFileOrDirectory, .connectionRefused, .notDirectory: return .failure(.notRunning(socket: socket))
            case .permissionDenied: return .failure(.notAllowed(socket: socket, reason: "\(error)"))
            case .timedOut: return .failure(.failed(reason: "nothing within \(patience) s; see its log"))
            default: return .failure(.failed(reason: "\(error)"))
            }
        }
    }

    private var head: [UInt8] {
        var lines = ["\(method) \(target) HTTP/1.1", "Host: localhost", "Connection: close"]
        if let body { lines += ["Content-Type: application/json", "Content-Length: \(body.count)"] }
        if body == nil && method != "GET" { lines.append("Content-Length: 0") }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    private func send(_ bytes: [UInt8], to descriptor: Int32) throws(Errno) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = try retryingOnInterrupt {
                rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            }
            rest = rest.dropFirst(count)
        }
    }

    private func receive(from descriptor: Int32) throws(Errno) -> [UInt8] {
        var reply: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            if try retryingOnInterrupt({ poll(&wait, 1, patience * 1000) }) == 0 { throw .timedOut }
            let count = try retryingOnInterrupt {
                buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
            }
            if count == 0 { return reply }
            reply.append(contentsOf: buffer[..<count])
        }
    }

    private func reply(in bytes: [UInt8]) -> Result<Reply, ControlError> {
        guard let head = HTTPHead(bytes) else { return .failure(.failed(reason: "not an HTTP reply")) }
        let rest = bytes[head.length...]
        guard let body = head.isChunked ? Self.unchunked(rest) : Array(rest) else {
            return .failure(.failed(reason: "the reply was cut off"))
        }
        return .success(Reply(status: head.status, body: body))
    }

    /// Decodes the chunked transfer coding (RFC 9112, section 7.1); `nil` if the last chunk is missing.
    static func unchunked(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        var rest = bytes
        var body: [UInt8] = []
        while let lineEnd = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let size = rest[..<lineEnd].prefix { Character(Unicode.Scalar($0)).isHexDigit }
            guard let count = Int(String(decoding: size, as: UTF8.self), radix: 16) else { return nil }
            rest = rest[(lineEnd + 1)...]
            if count == 0 { return body }
            guard rest.count - 2 >= count else { return nil }
            body.append(contentsOf: rest.prefix(count))
            rest = rest.dropFirst(count + 2)
        }
        return nil
    }
}

/// The parts of an HTTP reply's head that the client needs.
private struct HTTPHead {
    let status: Int
    let isChunked: Bool
    /// Number of bytes before the body.
    let length: Int

    init?(_ reply: [UInt8]) {
        let end = Array("\r\n\r\n".utf8)
        guard let start = reply.indices.first(where: { reply[$0...].starts(with: end) }) else { return nil }
        length = start + end.count
        let lines = String(decoding: reply[..<start], as: UTF8.self).split(separator: "\r\n")
        guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else { return nil }
        self.status = status
        isChunked = lines.dropFirst().contains { line in
            let field = line.lowercased()
            return field.hasPrefix("transfer-encoding:") && field.hasSuffix("chunked")
        }
    }
}
