import Glibc

/// Hosts that mean this machine.
enum LoopbackHost {
    /// Whether a URL names this machine: `localhost`, 127.0.0.0/8 in its usual form, or `::1` in any.
    ///
    /// Forms that only some resolvers read as loopback (`127.1`, `0x7f.1`) are not taken for it.
    static func isNamed(in url: String) -> Bool {
        guard let scheme = url.firstRange(of: "://") else { return false }
        let authority = url[scheme.upperBound...].prefix { !"/?#".contains($0) }
        guard !authority.contains("@") else { return false }
        if authority.first == "[" {
            return isLoopback6(String(authority.dropFirst().prefix { $0 != "]" }))
        }
        let host = authority.prefix { $0 != ":" }.lowercased()
        return host == "localhost" || isInNetwork127(host)
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
