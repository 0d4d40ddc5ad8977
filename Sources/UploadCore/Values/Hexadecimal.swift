extension Collection<UInt8> {
    /// The bytes as lower-case hexadecimal digits, two per byte.
    public var hexadecimal: String {
        String(unsafeUninitializedCapacity: count * 2) { buffer in
            var end = 0
            for byte in self {
                for digit in [byte >> 4, byte & 15] {
                    buffer[end] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
                    end += 1
                }
            }
            return end
        }
    }
}

extension FixedWidthInteger where Self: UnsignedInteger {
    /// The number as lower-case hexadecimal digits, two per byte of its type: 8 for a `UInt32`.
    public var hexadecimal: String { withUnsafeBytes(of: bigEndian) { $0.hexadecimal } }
}
