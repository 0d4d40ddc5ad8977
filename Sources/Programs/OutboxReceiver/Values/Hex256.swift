/// 256 bits, written as 64 lower-case hex digits: a SHA-256.
struct Hex256: Hashable, Sendable {
    private let high: Hex128
    private let low: Hex128

    /// - Parameter digest: the 32 bytes of a SHA-256.
    init(digest: [UInt8]) {
        (high, low) = digest.withUnsafeBytes { bytes in
            (Hex128(digest: bytes), Hex128(digest: UnsafeRawBufferPointer(rebasing: bytes[16...])))
        }
    }

    /// Returns nil for anything but 64 hex digits of either case.
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
