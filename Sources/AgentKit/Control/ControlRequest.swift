import Glibc
import LinuxSystem
import SystemPackage

/// One GET request over a Unix socket, blocking: HTTP/1.1 with `Connection: close` (RFC 9112), which is all that a
/// command needs.
struct ControlRequest: Sendable {
    let socket: String
    let target: String

    /// Seconds without a byte before the agent counts as hanging.
    private static let patience: Int32 = 10

    /// Sends the request and returns the reply's body.
    func perform() -> Result<[UInt8], ControlError> {
        do throws(Errno) {
            let descriptor = try connect()
            try send("GET \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", to: descriptor.rawValue)
            return body(of: try receive(from: descriptor.rawValue))
        } catch {
            switch error {
            case .noSuchFileOrDirectory, .connectionRefused, .notDirectory: return .failure(.notRunning(socket: socket))
            case .permissionDenied: return .failure(.notAllowed(socket: socket, reason: "\(error)"))
            case .timedOut: return .failure(.failed(reason: "nothing within \(Self.patience) s; see its log"))
            default: return .failure(.failed(reason: "\(error)"))
            }
        }
    }

    private func connect() throws(Errno) -> Descriptor {
        let descriptor = Descriptor(
            owning: try retryingOnInterrupt {
                Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            })
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = Array(socket.utf8)
        guard path.count < MemoryLayout.size(ofValue: address.sun_path) else { throw .fileNameTooLong }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        try retryingOnInterrupt {
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    Glibc.connect(descriptor.rawValue, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }
        return descriptor
    }

    private func send(_ text: String, to descriptor: Int32) throws(Errno) {
        var rest = Array(text.utf8)[...]
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
            if try retryingOnInterrupt({ poll(&wait, 1, Self.patience * 1000) }) == 0 { throw .timedOut }
            let count = try retryingOnInterrupt {
                buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
            }
            if count == 0 { return reply }
            reply.append(contentsOf: buffer[..<count])
        }
    }

    private func body(of reply: [UInt8]) -> Result<[UInt8], ControlError> {
        guard let head = HTTPHead(reply) else { return .failure(.failed(reason: "not an HTTP reply")) }
        let rest = reply[head.length...]
        guard let body = head.isChunked ? Self.unchunked(rest) : Array(rest) else {
            return .failure(.failed(reason: "the reply was cut off"))
        }
        guard head.status == 200 else {
            let text = String(decoding: body.prefix(300), as: UTF8.self)
            return .failure(.failed(reason: "\(target): status \(head.status): \(text)"))
        }
        return .success(body)
    }

    /// Takes the chunked transfer coding off (RFC 9112, section 7.1); nil when the last chunk is missing.
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

/// The head of an HTTP reply, as far as the client looks at it.
private struct HTTPHead {
    let status: Int
    let isChunked: Bool
    /// Bytes up to the body.
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
