import Text
import Glibc
import LinuxSystem
import SystemPackage

/// Sends one request over a Unix socket and blocks. HTTP/1.1 with `Connection: close` (RFC 9112) is all that a
/// command needs.
///
/// `Transport` could send the request too, and would cost a command about 4 ms. But it would have to accept a connection
/// whose listener was checked, and to limit the silence within a reply: more code than this client contains.
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

    /// Seconds without a byte until the request times out.
    private var patience: Int32 { 30 + wait }

    /// Sends the request and returns the reply, regardless of its status.
    func perform() -> Result<ControlAnswer, ControlError> {
        let result = ask()
        // The last connection to an agent that ends is cut off. Nobody listens then, as if it had come a moment later.
        guard case .failure(.cutOff) = result, !isAnybodyListening else { return result }
        return .failure(.notRunning(socket: socket))
    }

    private var isAnybodyListening: Bool {
        do throws(Errno) {
            _ = try UnixSocket.connect(to: socket)
            return true
        } catch {
            return false
        }
    }

    private func ask() -> Result<ControlAnswer, ControlError> {
        do throws(Errno) {
            let descriptor = try UnixSocket.connect(to: socket)
            // A request may carry a token. Check the listener before sending anything.
            let listener = try UnixSocket.listener(of: descriptor)
            guard peers.isTrusted(listener) else {
                return .failure(.notTrusted(socket: socket, user: UserName.shown(listener)))
            }
            try send(head + (body ?? []), to: descriptor.rawValue)
            let reply = try receive(from: descriptor.rawValue)
            if reply.isEmpty { return .failure(.cutOff) }
            return Result { () throws(ControlError) in try ControlAnswer(reply) }
        } catch {
            switch error {
            case .noSuchFileOrDirectory, .connectionRefused, .notDirectory: return .failure(.notRunning(socket: socket))
            case .permissionDenied: return .failure(.notAllowed(socket: socket, reason: "\(error)"))
            case .connectionReset, .brokenPipe: return .failure(.cutOff)
            case .timedOut: return .failure(.failed(reason: "nothing came within \(patience) s; see the agent's log"))
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
}
