internal import Glibc

/// Plays the service manager's part of sd_notify(3): a datagram socket that records all messages.
public final class NotifyListener {
    /// The value for `NOTIFY_SOCKET`.
    public let address: String
    /// The messages so far in order of arrival, one per datagram.
    public private(set) var messages: [String] = []

    private let descriptor: Int32

    /// The socket could not be created.
    public struct Failure: Error, CustomStringConvertible {
        /// What failed.
        public let description: String
    }

    /// Listens.
    ///
    /// - Parameter address: An absolute path, or `@` and an abstract name.
    /// - Throws: ``Failure``.
    public init(at address: String) throws {
        self.address = address
        var bytes = Array(address.utf8)
        if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 } else { bytes.append(0) }
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        guard bytes.count <= MemoryLayout.size(ofValue: name.sun_path) else {
            throw Failure(description: "\(address) is too long for a socket")
        }
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let bound = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard bound == 0 else { throw Failure(description: "\(address): \(String(cString: strerror(errno)))") }
    }

    deinit { close(descriptor) }

    /// Receives all pending datagrams without waiting, and returns all messages so far.
    @discardableResult
    public func receive() -> [String] {
        var buffer = [UInt8](repeating: 0, count: 8192)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            guard count >= 0 else { return messages }
            messages.append(String(decoding: buffer[..<count], as: UTF8.self))
        }
    }

    /// Waits for a datagram with a line that begins with `prefix`.
    ///
    /// - Parameters:
    ///   - prefix: The start of the line, for instance `READY=1`.
    ///   - start: The number of datagrams to skip.
    ///   - timeout: The longest wait.
    /// - Returns: The number of datagrams up to the found one.
    /// - Throws: ``Poll/TimedOut``.
    @discardableResult
    public func wait(
        for prefix: String, after start: Int = 0, timeout: Duration = .seconds(150),
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> Int {
        try await Poll.value(
            "the notification \(prefix)", timeout: timeout, lastState: { "\(self.messages)" },
            look: {
                self.receive().indices.dropFirst(start).first { index in
                    self.messages[index].split(separator: "\n").contains { $0.hasPrefix(prefix) }
                }.map { $0 + 1 }
            })
    }
}
