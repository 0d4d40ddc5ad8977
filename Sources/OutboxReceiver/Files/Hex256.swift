import Crypto

/// 256 bits that are written as 64 lower-case hex digits: a SHA-256.
struct Hex256: Hashable, Sendable {
    private let high: Hex128
    private let low: Hex128

    init(_ digest: SHA256Digest) {
        let words = digest.withUnsafeBytes { bytes in
            stride(from: 0, to: 32, by: 8).map {
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: $0, as: UInt64.self))
            }
        }
        high = Hex128(high: words[0], low: words[1])
        low = Hex128(high: words[2], low: words[3])
    }

    /// Nil for anything but 64 hex digits of either case.
    init?(_ text: some StringProtocol) {
        guard text.utf8.count == 64, let high = Hex128(text.utf8.prefix(32)), let low = Hex128(text.utf8.dropFirst(32))
        else { return nil }
        self.high = high
        self.low = low
    }
}

extension Hex256: CustomStringConvertible {
    var description: String { "\(high)\(low)" }
}
