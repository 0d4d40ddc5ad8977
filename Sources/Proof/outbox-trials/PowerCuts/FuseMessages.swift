/// The required part of the protocol between the kernel and a file system in user space (linux/fuse.h, version 7.31),
/// for a directory with one file.
enum Fuse {
    enum Opcode: UInt32 {
        case lookup = 1
        case forget = 2
        case getattr = 3
        case setattr = 4
        case open = 14
        case read = 15
        case write = 16
        case release = 18
        case fsync = 20
        case flush = 25
        case initialize = 26
        case interrupt = 36
        case destroy = 38
        case batchForget = 42
    }

    static let rootNode: UInt64 = 1
    static let fileNode: UInt64 = 2
    static let inHeaderSize = 40
    /// The room for the header and fields of a write request, in bytes.
    static let room = 4096
    static let mostWritten = 1 << 20

    /// A request read from `/dev/fuse`. Valid only as long as its buffer.
    struct Request {
        let bytes: UnsafeRawBufferPointer

        var opcode: Opcode? { Opcode(rawValue: number(at: 4)) }
        var unique: UInt64 { number(at: 8) }
        var node: UInt64 { number(at: 16) }
        /// The fields behind the header.
        var fields: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[Fuse.inHeaderSize...]) }

        /// The name in a lookup.
        var name: String { String(decoding: fields.prefix { $0 != 0 }, as: UTF8.self) }

        /// A field of `fuse_read_in` and `fuse_write_in`.
        var offset: Int { Int(clamping: number(at: Fuse.inHeaderSize + 8) as UInt64) }
        var count: Int { Int(number(at: Fuse.inHeaderSize + 16) as UInt32) }
        var written: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: fields.dropFirst(40)) }

        /// A field of `fuse_init_in`.
        var readAhead: UInt32 { number(at: Fuse.inHeaderSize + 8) }

        private func number<Number: FixedWidthInteger>(at offset: Int) -> Number {
            guard offset + MemoryLayout<Number>.size <= bytes.count else { return 0 }
            return Number(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Number.self))
        }
    }

    /// An answer, header included.
    struct Reply {
        private(set) var bytes: [UInt8] = []

        /// - Parameter error: An errno, 0 for success.
        init(to unique: UInt64, error: Int32 = 0, capacity: Int = 0) {
            bytes.reserveCapacity(16 + capacity)
            append(UInt32(0))
            append(-error)
            append(unique)
        }

        mutating func append<Number: FixedWidthInteger>(_ number: Number) {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }

        mutating func append(_ content: UnsafeRawBufferPointer) { bytes.append(contentsOf: content) }

        /// `fuse_init_out`: asynchronous reads (1), writes of more than a page (1 << 5), `max_pages` counts (1 << 22).
        mutating func appendInit(readAhead: UInt32) {
            append(UInt32(7))
            append(UInt32(31))
            append(readAhead)
            append(UInt32(1 | 1 << 5 | 1 << 22))
            append(UInt16(64))
            append(UInt16(48))
            append(UInt32(Fuse.mostWritten))
            append(UInt32(1))
            append(UInt16(Fuse.mostWritten / 4096))
            append(UInt16(0))
            for _ in 0..<8 { append(UInt32(0)) }
        }

        /// `fuse_entry_out`.
        mutating func appendEntry(node: UInt64, size: Int) {
            append(node)
            append(UInt64(0))
            append(UInt64(3600))
            append(UInt64(3600))
            append(UInt64(0))
            appendStatus(node: node, size: size)
        }

        /// `fuse_attr_out`.
        mutating func appendAttributes(node: UInt64, size: Int) {
            append(UInt64(3600))
            append(UInt64(0))
            appendStatus(node: node, size: size)
        }

        private mutating func appendStatus(node: UInt64, size: Int) {
            let isRoot = node == Fuse.rootNode
            append(node)
            append(UInt64(isRoot ? 4096 : size))
            append(UInt64(isRoot ? 8 : size / 512))
            for _ in 0..<3 { append(UInt64(0)) }
            for _ in 0..<3 { append(UInt32(0)) }
            append(UInt32(isRoot ? 0o040700 : 0o100600))
            append(UInt32(isRoot ? 2 : 1))
            for _ in 0..<3 { append(UInt32(0)) }
            append(UInt32(4096))
            append(UInt32(0))
        }

        /// The complete reply, with the length at the front.
        var finished: [UInt8] {
            var bytes = bytes
            withUnsafeBytes(of: UInt32(bytes.count).littleEndian) { bytes.replaceSubrange(0..<4, with: $0) }
            return bytes
        }
    }
}
