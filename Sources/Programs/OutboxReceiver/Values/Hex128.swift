/// 128 bits, written as 32 lower-case hex digits: an MD5, an upload id, the secret part of a URL.
struct Hex128: Hashable, Sendable {
    let high: UInt64
    let low: UInt64

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Returns an unguessable value from the system's random number generator.
    static func random() -> Hex128 {
        var generator = SystemRandomNumberGenerator()
        return Hex128(high: generator.next(), low: generator.next())
    }

    /// - Parameter digest: at least 16 bytes, of which the first 16 count.
    init(digest: UnsafeRawBufferPointer) {
        high = UInt64(bigEndian: digest.loadUnaligned(as: UInt64.self))
        low = UInt64(bigEndian: digest.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    /// Returns nil for anything but 32 hex digits of either case.
    init?(_ text: some StringProtocol) {
        self.init(text.utf8)
    }

    /// Returns nil for anything but 32 ASCII hex digits of either case.
    init?(_ digits: some Sequence<UInt8>) {
        var high: UInt64 = 0
        var low: UInt64 = 0
        var count = 0
        for digit in digits {
            guard count < 32, let value = Self.value(of: digit) else { return nil }
            high = high << 4 | low >> 60
            low = low << 4 | value
            count += 1
        }
        guard count == 32 else { return nil }
        self.init(high: high, low: low)
    }

    private static func value(of digit: UInt8) -> UInt64? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(digit - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(digit - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(digit - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}

extension Hex128: CustomStringConvertible {
    var description: String {
        String(unsafeUninitializedCapacity: 32) { buffer in
            for index in 0..<32 {
                let word = index < 16 ? high : low
                let nibble = UInt8(truncatingIfNeeded: word >> UInt64(60 - index % 16 * 4)) & 0xf
                buffer[index] = nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
            }
            return 32
        }
    }
}

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
