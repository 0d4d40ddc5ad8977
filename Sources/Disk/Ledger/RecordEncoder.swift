import CXXHash

/// Encodes one record: `checksum (8) · format (1) · fields`, numbers little-endian, each byte string after its 32-bit
/// length.
///
/// Reuses its buffer for every record.
struct RecordEncoder {
    /// The only record format so far.
    static let format: UInt8 = 1

    private(set) var bytes: [UInt8] = []

    /// Discards the last record and begins the next.
    mutating func begin() {
        bytes.removeAll(keepingCapacity: true)
        append(UInt64(0))
        append(Self.format)
    }

    /// Stores the checksum in front, which completes the record.
    mutating func seal(table: LedgerTable, key: [UInt8]) {
        bytes.withUnsafeMutableBytes { raw in
            let sum = recordChecksum(of: UnsafeRawBufferPointer(rebasing: raw[8...]), table: table, key: key)
            raw.storeBytes(of: sum.littleEndian, as: UInt64.self)
        }
    }

    /// Encodes the value of an index entry: no fields, but a checksum, which covers the key and so detects a flipped bit in
    /// the key.
    mutating func encodeIndexEntry(of table: LedgerTable, key: [UInt8]) {
        begin()
        seal(table: table, key: key)
    }

    mutating func append<Number: FixedWidthInteger>(_ number: Number) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func append(bytes field: some Collection<UInt8>) {
        append(UInt32(truncatingIfNeeded: field.count))
        bytes.append(contentsOf: field)
    }

    mutating func append(_ text: String) {
        append(bytes: text.utf8)
    }

    mutating func append(words: [UInt64]) {
        append(UInt32(truncatingIfNeeded: words.count))
        words.map(\.littleEndian).withUnsafeBytes { bytes.append(contentsOf: $0) }
    }
}

/// Returns XXH3 over a record, seeded with its table and key: a record under another key counts as damaged, too.
func recordChecksum(of record: UnsafeRawBufferPointer, table: LedgerTable, key: [UInt8]) -> UInt64 {
    let place = key.withUnsafeBytes { XXH3_64bits_withSeed($0.baseAddress, $0.count, UInt64(table.table.index)) }
    return XXH3_64bits_withSeed(record.baseAddress, record.count, place)
}
