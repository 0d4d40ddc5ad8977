import Glibc

/// Hosts that mean this machine: `localhost`, 127.0.0.0/8 in its usual form, or `::1` in any form. Such a host may
/// receive a token over plain http, but then no proxy may be used; both decisions use this test.
///
/// Forms that only some resolvers treat as loopback (`127.1`, `0x7f.1`) do not count.
public enum LoopbackHost {
    /// Returns whether a host means this machine.
    ///
    /// - Parameter host: the host of a URL; an IPv6 address without its brackets.
    public static func isOne(_ host: String) -> Bool {
        let host = host.lowercased()
        return host == "localhost" || isInNetwork127(host) || isLoopback6(host)
    }

    /// Returns whether a URL names this machine.
    static func isNamed(in url: String) -> Bool {
        guard let scheme = url.firstRange(of: "://") else { return false }
        let authority = url[scheme.upperBound...].prefix { !"/?#".contains($0) }
        guard !authority.contains("@") else { return false }
        if authority.first == "[" {
            return isLoopback6(String(authority.dropFirst().prefix { $0 != "]" }))
        }
        return isOne(String(authority.prefix { $0 != ":" }))
    }

    private static func isLoopback6(_ text: String) -> Bool {
        var address = in6_addr()
        guard inet_pton(AF_INET6, text, &address) == 1 else { return false }
        return withUnsafeBytes(of: address) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
    }

    private static func isInNetwork127(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { UInt8($0).map(String.init) == String($0) }
    }
}
