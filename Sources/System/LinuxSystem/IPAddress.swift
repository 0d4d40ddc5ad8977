import Glibc

/// An IPv4 or IPv6 address.
public struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// The address's 4 or 16 bytes in network order.
    public let bytes: [UInt8]

    /// Creates an address from 4 or 16 bytes in network order; nil for any other number of bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        self.bytes = Array(bytes)
    }

    /// Reads an address in the notation of inet_pton(3); nil for any other text.
    public init?(_ text: String) {
        // A C string ends at a null byte.
        if text.utf8.contains(0) { return nil }
        var bytes = [UInt8](repeating: 0, count: 16)
        if inet_pton(AF_INET, text, &bytes) == 1 {
            self.bytes = Array(bytes[..<4])
        } else if inet_pton(AF_INET6, text, &bytes) == 1 {
            self.bytes = bytes
        } else {
            return nil
        }
    }

    /// Whether the address has 4 bytes.
    public var isIPv4: Bool { bytes.count == 4 }

    /// Whether packets to the address stay on this machine: 127.0.0.0/8 or `::1` (RFC 6890).
    public var isLoopback: Bool {
        isIPv4 ? bytes[0] == 127 : bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
    }

    /// Whether the address is valid only on its own link: 169.254.0.0/16 (RFC 3927) or fe80::/10 (RFC 4291).
    public var isLinkLocal: Bool {
        isIPv4 ? bytes[0] == 169 && bytes[1] == 254 : bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80
    }

    /// The address in the notation of inet_ntop(3).
    public var description: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
            let family = isIPv4 ? AF_INET : AF_INET6
            guard let written = inet_ntop(family, bytes, text.baseAddress, socklen_t(text.count)) else { return "" }
            return String(cString: written)
        }
    }
}
