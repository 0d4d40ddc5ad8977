/// Computes the checksum CRC-64/NVME, which S3 calls CRC64NVME (NVM Express, NVM Command Set Specification, 64b CRC).
public struct CRC64NVME: Sendable {
    /// The polynomial AD93D23594C93659, bits reversed.
    private static let polynomial: UInt64 = 0x9A6C_9329_AC4B_C9B5
    /// Eight tables of 256 values: eight bytes a step ("slicing by 8").
    private static let tables: [UInt64] = {
        var tables = [UInt64](repeating: 0, count: 8 * 256)
        for byte in 0..<256 {
            tables[byte] = (0..<8).reduce(UInt64(byte)) { value, _ in value >> 1 ^ (value & 1 == 1 ? polynomial : 0) }
        }
        for index in 256..<tables.count {
            let previous = tables[index - 256]
            tables[index] = previous >> 8 ^ tables[Int(previous & 0xFF)]
        }
        return tables
    }()

    private var state = ~UInt64(0)

    /// Creates a checksum of no bytes.
    public init() {}

    /// Adds the next bytes.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var state = self.state
        Self.tables.withUnsafeBufferPointer { tables in
            let whole = bytes.count & ~7
            for start in stride(from: 0, to: whole, by: 8) {
                let word = state ^ UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self))
                state = 0
                for place in 0..<8 {
                    state ^= tables[(7 - place) << 8 | Int(truncatingIfNeeded: word >> UInt64(place * 8) & 0xFF)]
                }
            }
            for byte in bytes[whole...] { state = state >> 8 ^ tables[Int(UInt8(truncatingIfNeeded: state) ^ byte)] }
        }
        self.state = state
    }

    /// The checksum of the bytes so far.
    public var value: UInt64 { ~state }
}
