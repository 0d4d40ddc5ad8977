import Glibc

/// Parses IP addresses (man 3 inet_pton).
enum IPAddress {
    /// Returns 4 bytes for IPv4, 16 for IPv6, and nil for anything else. Ignores the zone of a link-local address.
    static func bytes(_ text: String) -> [UInt8]? {
        let text = String(text.prefix { $0 != "%" })
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes[..<4]) }
        return inet_pton(AF_INET6, text, &bytes) == 1 ? bytes : nil
    }
}
