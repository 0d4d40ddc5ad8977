import Glibc
import LinuxSystem
import SystemPackage

/// The other address of the name `localhost`: `[::1]` beside 127.0.0.1, and the reverse.
///
/// A browser that opens `http://localhost:PORT/…` tries `[::1]` first. Another user who listens there would get the
/// secret in the URL, or the cookie. So the agent binds the port on both addresses, and listens on one. The kernel
/// refuses connections to a bound socket that does not listen, so the browser goes on to the other address.
struct LoopbackTwin: Sendable {
    /// Whether another program holds the address.
    let isForeign: Bool
    /// The port to listen on: the wanted one, or a free one if that was 0.
    let port: Int
    /// Keeps the port until the value is released.
    private let socket: SharedDescriptor?

    /// Binds the port on the twin of a loopback address. Most loopback addresses have no twin.
    init(of address: DashboardAddress, port: Int) {
        guard let twin = Self.twins[address.bindAddress] else {
            (isForeign, self.port, socket) = (false, port, nil)
            return
        }
        do throws(Errno) {
            let bound = try Self.bind(twin, port)
            let number = try port == 0 ? Self.port(of: bound) : port
            (isForeign, self.port, socket) = (false, number, bound)
        } catch {
            // Without IPv6, nobody else can bind the address either.
            (isForeign, self.port, socket) = (error == .addressInUse, port, nil)
        }
    }

    private static let twins = ["127.0.0.1": "::1", "::1": "127.0.0.1"]

    /// Without SO_REUSEADDR, no other program can bind the port while this socket lives (man 7 socket).
    private static func bind(_ address: String, _ port: Int) throws(Errno) -> SharedDescriptor {
        let isIPv4 = !address.contains(":")
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let socket = SharedDescriptor(
            Descriptor(
                owning: try retryingOnInterrupt { Glibc.socket(isIPv4 ? AF_INET : AF_INET6, type, 0) }))
        if isIPv4 {
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            name.sin_port = in_port_t(truncatingIfNeeded: port).bigEndian
            inet_pton(AF_INET, address, &name.sin_addr)
            try bind(socket, &name)
        } else {
            var name = sockaddr_in6()
            name.sin6_family = sa_family_t(AF_INET6)
            name.sin6_port = in_port_t(truncatingIfNeeded: port).bigEndian
            inet_pton(AF_INET6, address, &name.sin6_addr)
            try bind(socket, &name)
        }
        return socket
    }

    private static func bind<Name>(_ socket: SharedDescriptor, _ name: inout Name) throws(Errno) {
        let length = socklen_t(MemoryLayout<Name>.size)
        let status = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(socket.rawValue, $0, length) }
        }
        if status != 0 { throw Errno(rawValue: errno) }
    }

    private static func port(of socket: SharedDescriptor) throws(Errno) -> Int {
        // The port is at the same offset in the names of both families.
        var name = sockaddr_in6()
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let status = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket.rawValue, $0, &length) }
        }
        if status != 0 { throw Errno(rawValue: errno) }
        return Int(UInt16(bigEndian: name.sin6_port))
    }
}
