import Glibc

/// An address as text, read as bytes (man 3 inet_pton).
enum IPAddress {
    /// Four bytes, sixteen, or nil for anything but an address. The zone of a link-local address is ignored.
    static func bytes(_ text: String) -> [UInt8]? {
        let text = String(text.prefix { $0 != "%" })
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 { return Array(bytes[..<4]) }
        return inet_pton(AF_INET6, text, &bytes) == 1 ? bytes : nil
    }
}
