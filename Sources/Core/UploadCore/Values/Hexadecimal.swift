extension Collection<UInt8> {
    /// The bytes as lower-case hexadecimal digits, two per byte.
    public var hexadecimal: String {
        func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10 }
        return String(unsafeUninitializedCapacity: count * 2) { buffer in
            var end = 0
            // Quicker than over a collection of unknown type.
            for byte in Array(self) {
                buffer[end] = digit(byte >> 4)
                buffer[end + 1] = digit(byte & 15)
                end += 2
            }
            return end
        }
    }
}

extension FixedWidthInteger where Self: UnsignedInteger {
    /// The number as lower-case hexadecimal digits, two per byte of its type: 8 for a `UInt32`.
    public var hexadecimal: String { withUnsafeBytes(of: bigEndian) { $0.hexadecimal } }
}
