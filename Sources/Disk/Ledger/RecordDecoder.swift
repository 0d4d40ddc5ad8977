/// Reads the fields of one record in the order they were written.
///
/// No input makes the decoder trap. After a missing or invalid field the decoder returns zeros, and `isSound` is
/// false at the end. Valid only during the transaction that supplied the bytes.
struct RecordDecoder {
    private let bytes: UnsafeRawBufferPointer
    private var offset: Int
    private var failed = false

    /// Checks the checksum and the format.
    ///
    /// - Returns: nil if either is wrong.
    init?(_ bytes: UnsafeRawBufferPointer, table: LedgerTable, key: [UInt8]) {
        guard bytes.count >= 9 else { return nil }
        let stored = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
        let record = UnsafeRawBufferPointer(rebasing: bytes[8...])
        guard stored == recordChecksum(of: record, table: table, key: key) else { return nil }
        self.init(unchecked: bytes)
        if failed { return nil }
    }

    /// Skips the checksum, so that tests can pass any bytes to the fields.
    init(unchecked bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        offset = 8
        if read(UInt8.self) != RecordEncoder.format { failed = true }
    }

    /// Whether every field was complete and no bytes are left.
    var isSound: Bool { !failed && offset == bytes.count }

    /// Marks the record as invalid.
    mutating func fail() {
        failed = true
    }

    mutating func read<Number: FixedWidthInteger>(_ type: Number.Type) -> Number {
        let size = MemoryLayout<Number>.size
        guard !failed, bytes.count - offset >= size else {
            failed = true
            return 0
        }
        defer { offset += size }
        return Number(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Number.self))
    }

    mutating func readBytes() -> [UInt8] {
        Array(field())
    }

    /// Reads some bytes.
    mutating func readBytes(count: Int) -> [UInt8] {
        guard !failed, count >= 0, count <= bytes.count - offset else {
            failed = true
            return []
        }
        defer { offset += count }
        return Array(bytes[offset..<(offset + count)])
    }

    /// Skips numbers of a known size.
    mutating func skip(_ size: Int) {
        guard !failed, bytes.count - offset >= size else { return fail() }
        offset += size
    }

    /// Reads a field of bytes without a copy. Valid only during the transaction that supplied the bytes.
    mutating func readField() -> UnsafeRawBufferPointer { field() }

    mutating func readText() -> String {
        guard let text = String(validating: field(), as: UTF8.self) else {
            failed = true
            return ""
        }
        return text
    }

    /// Reads the words at some positions of a list, or all of them; positions that the list does not have are left out.
    ///
    /// - Parameter limit: a list of more words is invalid.
    mutating func readWords(_ positions: Range<Int> = 0..<Int.max, atMost limit: Int) -> [UInt64] {
        let count = Int(read(UInt32.self))
        guard !failed, count <= limit, count * 8 <= bytes.count - offset else {
            failed = true
            return []
        }
        defer { offset += count * 8 }
        let wanted = positions.clamped(to: 0..<count)
        let source = UnsafeRawBufferPointer(
            rebasing: bytes[offset + wanted.lowerBound * 8..<offset + wanted.upperBound * 8])
        let stored = [UInt64](unsafeUninitializedCapacity: wanted.count) { buffer, initialized in
            UnsafeMutableRawBufferPointer(buffer).copyMemory(from: source)
            initialized = wanted.count
        }
        return stored.map(UInt64.init(littleEndian:))
    }

    /// Reads the number of entries that follow.
    ///
    /// - Parameter size: minimum bytes of an entry; a count too large for the record's length is invalid.
    mutating func readCount(ofAtLeast size: Int) -> Int {
        let count = Int(read(UInt32.self))
        guard !failed, count <= (bytes.count - offset) / size else {
            failed = true
            return 0
        }
        return count
    }

    private mutating func field() -> UnsafeRawBufferPointer {
        let count = Int(read(UInt32.self))
        guard !failed, count <= bytes.count - offset else {
            failed = true
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + count)])
    }
}
