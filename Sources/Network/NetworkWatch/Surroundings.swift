import Glibc
import LinuxSystem

/// The machine's addresses and routes at one moment, read from files in /proc/net (man 5 proc). They work without
/// netlink, unlike getifaddrs(3).
struct Surroundings: Equatable, Sendable {
    /// Addresses that are valid beyond their own link.
    var addresses: Set<IPAddress> = []
    /// Routes as text, only for comparison.
    var routes: Set<String> = []

    /// Parses the contents of files under /proc/net, by name.
    init(fibTrie: String, ifInet6: String, route: String, ipv6Route: String) {
        addresses = Self.addresses(inFibTrie: fibTrie).union(Self.addresses(inIfInet6: ifInet6))
            .filter { !$0.isLoopback && !$0.isLinkLocal }
        routes = Self.routes(inRoute: route).union(Self.routes(inIPv6Route: ipv6Route))
    }

    /// Reads the files in the network namespace of the calling thread; an unreadable file counts as empty.
    static func look() -> Surroundings {
        Surroundings(
            fibTrie: contents("fib_trie"), ifInet6: contents("if_inet6"), route: contents("route"),
            ipv6Route: contents("ipv6_route"))
    }

    /// IPv4: the local addresses in the leaves of the kernel's routing trie.
    private static func addresses(inFibTrie text: String) -> Set<IPAddress> {
        var found: Set<IPAddress> = []
        var leaf: IPAddress?
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.first == "|--", let address = words.dropFirst().first {
                let parts = address.split(separator: ".").compactMap { UInt8($0) }
                leaf = IPAddress(bytes: parts)
            } else if words == ["/32", "host", "LOCAL"], let leaf {
                found.insert(leaf)
            }
        }
        return found
    }

    /// IPv6: address, link, length, scope, flags, name.
    private static func addresses(inIfInet6 text: String) -> Set<IPAddress> {
        // IFA_F_DADFAILED: another machine has the address. IFA_F_TENTATIVE: the kernel still looks for one.
        let unusable: UInt32 = 0x08 | 0x40
        let found = text.split(separator: "\n").compactMap { line -> IPAddress? in
            let words = line.split(separator: " ")
            guard words.count >= 5, let flags = UInt32(words[4], radix: 16), flags & unusable == 0 else { return nil }
            return IPAddress(bytes: hexadecimal(words[0]))
        }
        return Set(found)
    }

    /// Interface, destination, gateway, flags, references, use, metric, mask, …; the counters are left out.
    private static func routes(inRoute text: String) -> Set<String> {
        let lines = text.split(separator: "\n").dropFirst().compactMap { line -> String? in
            let words = line.split(whereSeparator: \.isWhitespace)
            guard words.count >= 8 else { return nil }
            return [words[0], words[1], words[2], words[3], words[6], words[7]].joined(separator: " ")
        }
        return Set(lines)
    }

    /// Destination, length, source, length, next hop, metric, references, use, flags, interface.
    private static func routes(inIPv6Route text: String) -> Set<String> {
        // RTF_LOCAL and RTF_CACHE (linux/ipv6_route.h): the machine itself, and cached routes to single hosts.
        let unimportant: UInt32 = 0x8000_0000 | 0x0100_0000
        let lines = text.split(separator: "\n").compactMap { line -> String? in
            let words = line.split(whereSeparator: \.isWhitespace)
            guard words.count >= 10, let flags = UInt32(words[8], radix: 16), flags & unimportant == 0,
                !words[0].hasPrefix("fe8"), !words[0].hasPrefix("ff")
            else { return nil }
            return [words[0], words[1], words[4], words[5], words[9]].joined(separator: " ")
        }
        return Set(lines)
    }

    private static func hexadecimal(_ text: Substring) -> [UInt8] {
        var rest = text
        var bytes: [UInt8] = []
        while !rest.isEmpty {
            guard let byte = UInt8(rest.prefix(2), radix: 16) else { return [] }
            bytes.append(byte)
            rest = rest.dropFirst(2)
        }
        return bytes
    }

    /// Reads a file up to 4 MiB; a router's tables may be huge, and their rest is not compared.
    private static func contents(_ name: String) -> String {
        let path = "/proc/thread-self/net/\(name)"
        guard let file = try? SharedDescriptor(opening: path, flags: O_RDONLY) else { return "" }
        let most = 4 << 20
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 16 << 10)
        while bytes.count < most {
            let offset = UInt64(bytes.count)
            guard let count = try? chunk.withUnsafeMutableBytes({ try file.read(into: $0, at: offset) }), count > 0
            else { break }
            bytes += chunk[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
