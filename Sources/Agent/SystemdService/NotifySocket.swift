import Glibc
import LinuxSystem
import SystemPackage

/// The service manager's notification socket (man 3 sd_notify): a Unix datagram socket.
struct NotifySocket: Sendable {
    private let address: sockaddr_un
    private let length: socklen_t

    /// - Parameter name: The value of `NOTIFY_SOCKET`: an absolute path, or `@` and an abstract name (man 7 unix). The
    ///   initializer returns nil for anything else, and for a name too long for a socket address.
    init?(_ name: String) {
        var bytes = Array(name.utf8)
        guard let first = bytes.first, bytes.count > 1, first == UInt8(ascii: "/") || first == UInt8(ascii: "@") else {
            return nil
        }
        let isAbstract = first == UInt8(ascii: "@")
        // An abstract name begins with a NUL byte and ends with the address. A path ends with a NUL byte.
        if isAbstract { bytes[0] = 0 } else { bytes.append(0) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard bytes.count <= MemoryLayout.size(ofValue: address.sun_path) else { return nil }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        self.address = address
        length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
    }

    /// Sends the lines as one datagram. Blocks while the service manager's queue is full.
    ///
    /// - Throws: `Errno` of socket(2) or sendto(2).
    func send(_ lines: [String]) throws(Errno) {
        let socket = Descriptor(
            owning: try retryingOnInterrupt {
                Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            })
        let message = Array(lines.joined(separator: "\n").utf8)
        var address = address
        try retryingOnInterrupt {
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    sendto(socket.rawValue, message, message.count, Int32(MSG_NOSIGNAL), $0, length)
                }
            }
        }
    }
}
