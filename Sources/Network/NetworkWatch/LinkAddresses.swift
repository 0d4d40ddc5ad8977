import Glibc
import LinuxSystem

/// The addresses of links at one moment, without link-local ones.
enum LinkAddresses {
    /// Returns the addresses in the network namespace of the calling thread; empty if netlink is forbidden (man 3
    /// getifaddrs).
    static func look(_ links: Set<UInt32>) -> Set<IPAddress> {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return [] }
        defer { freeifaddrs(first) }
        var found: Set<IPAddress> = []
        var next = first
        while let entry = next?.pointee {
            next = entry.ifa_next
            guard let label = entry.ifa_name, let address = IPAddress(entry.ifa_addr), !address.isLinkLocal else {
                continue
            }
            // An address label such as "eth0:1" begins with the link's name.
            let link = String(cString: label).prefix { $0 != ":" }
            if links.contains(if_nametoindex(String(link))) { found.insert(address) }
        }
        return found
    }
}

extension IPAddress {
    /// Nil for a family other than IPv4 and IPv6.
    fileprivate init?(_ address: UnsafeMutablePointer<sockaddr>?) {
        guard let address else { return nil }
        let raw = UnsafeRawPointer(address)
        let bytes: [UInt8]
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            bytes = withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in.self).sin_addr) { Array($0) }
        case AF_INET6:
            bytes = withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr) { Array($0) }
        default: return nil
        }
        self.init(bytes: bytes)
    }
}
