import LinuxSystem
import URLs

/// The value of `control.dashboard`: a loopback address and a port.
package struct DashboardAddress: Equatable, Sendable {
    /// The address for a socket.
    let bindAddress: String
    /// The address in a URL.
    let host: String
    /// 0 for a free port.
    let port: Int

    /// Reads the value of the key; nil for an empty one: no dashboard.
    package init?(_ text: String) {
        let authority = Authority(text[...])
        guard let port = authority.portNumber else { return nil }
        // `localhost` might be either address. Both are reached by the name.
        let address = HostName.address(authority.host) ?? IPAddress(bytes: [127, 0, 0, 1])
        guard let address, address.isLoopback else { return nil }
        bindAddress = address.description
        host = address.isIPv4 ? bindAddress : "[\(bindAddress)]"
        self.port = Int(port)
    }

    /// The default of the key. Other users of the machine have it too.
    static let usual = DashboardAddress("127.0.0.1:8788")

    /// The ports to try, in this order; 0 for a free one. Only the default gives way to another port.
    var ports: [Int] {
        if self == Self.usual { return Array(port...port + 10) + [0] }
        // Another program may take the free port first.
        return port == 0 ? [0, 0, 0] : [port]
    }
}

extension DashboardAddress: CustomStringConvertible {
    package var description: String { "\(host):\(port)" }
}
