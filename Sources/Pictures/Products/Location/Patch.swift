import LinuxSystem
import SystemPackage

/// A change of a file that moves no byte.
enum Patch: Equatable {
    /// Overwrites bytes.
    case bytes([UInt8], at: UInt64)
    /// Overwrites bytes with zeros.
    case zeros(Range<UInt64>)
    /// Overwrites bytes with spaces.
    case spaces(Range<UInt64>)
    /// Overwrites the content of a unit of a video stream with messages that say nothing.
    case filler(Range<UInt64>)
    /// Overwrites the content of a unit of a video stream with ones, and the bit that ends it (ITU-T H.264, 7.3.2.7).
    case padding(Range<UInt64>)

    /// The bytes that it overwrites.
    var range: Range<UInt64> {
        switch self {
        case .bytes(let bytes, let offset): offset..<(offset + UInt64(bytes.count))
        case .zeros(let range), .spaces(let range), .filler(let range), .padding(let range): range
        }
    }

    private static let pieceSize = 1 << 20

    /// Changes a file.
    ///
    /// - Throws: ``ProductFailure``, also if the task was cancelled.
    func apply(to file: SharedDescriptor, _ cancellation: Cancellation) throws(ProductFailure) {
        switch self {
        case .bytes(let bytes, let offset): try Self.write(bytes, offset, file)
        case .zeros(let range): try Self.fill(range, with: 0, file, cancellation)
        case .spaces(let range): try Self.fill(range, with: UInt8(ascii: " "), file, cancellation)
        case .padding(let range):
            try Self.fill(range, with: 0xFF, file, cancellation)
            if !range.isEmpty { try Self.write([0x80], range.upperBound - 1, file) }
        case .filler(let range):
            try Self.write(SupplementalMessages.filler(range.count), range.lowerBound, file)
        }
    }

    private static func fill(
        _ range: Range<UInt64>, with byte: UInt8, _ file: SharedDescriptor, _ cancellation: Cancellation
    ) throws(ProductFailure) {
        let piece = [UInt8](repeating: byte, count: Int(min(UInt64(pieceSize), UInt64(range.count))))
        var offset = range.lowerBound
        while offset < range.upperBound {
            try cancellation.check()
            let count = min(UInt64(piece.count), range.upperBound - offset)
            try write(count == piece.count ? piece : Array(piece.prefix(Int(count))), offset, file)
            offset += count
        }
    }

    private static func write(
        _ bytes: [UInt8], _ offset: UInt64, _ file: SharedDescriptor
    ) throws(ProductFailure) {
        do throws(Errno) { try file.write(bytes, at: offset) } catch { throw FileCopy.failure(error) }
    }
}

/// The changes of a file, in order. Every search collects its changes here, so that no file can fill the memory.
struct Patches: Sequence, ExpressibleByArrayLiteral {
    private var patches: [Patch] = []

    /// Hours of a camcorder have a message in each picture.
    private static let most = 500_000

    init() {}
    init(arrayLiteral patches: Patch...) { self.patches = patches }

    var isEmpty: Bool { patches.isEmpty }
    var count: Int { patches.count }
    func makeIterator() -> IndexingIterator<[Patch]> { patches.makeIterator() }

    /// Adds a change.
    ///
    /// - Throws: `refused` for more changes than memory should hold.
    mutating func append(_ patch: Patch) throws(ProductFailure) {
        if count >= Self.most { throw .refused("the file has too many parts that must go") }
        patches.append(patch)
    }

    /// Adds changes; see ``append(_:)``.
    static func += (changes: inout Patches, further: Patches) throws(ProductFailure) {
        for patch in further { try changes.append(patch) }
    }

    /// Changes a file; see ``Patch/apply(to:_:)``.
    func apply(to file: SharedDescriptor, _ cancellation: Cancellation) throws(ProductFailure) {
        for patch in patches { try patch.apply(to: file, cancellation) }
    }
}

/// A part of a file, read with bounds checks: reading outside gives nil, never a crash.
struct FilePart {
    let file: SharedDescriptor
    /// Where the part begins and ends in the file.
    let range: Range<UInt64>
    /// Checked before each reading; nil: never.
    var cancellation: Cancellation?

    /// Returns a part of this part.
    func within(_ range: Range<UInt64>) -> FilePart {
        FilePart(file: file, range: range, cancellation: cancellation)
    }

    /// Returns bytes at an offset of the file; nil if they are not all in the part.
    func bytes(at offset: UInt64, count: Int) throws(ProductFailure) -> [UInt8]? {
        guard count >= 0, offset >= range.lowerBound, offset <= range.upperBound,
            UInt64(count) <= range.upperBound - offset
        else { return nil }
        try cancellation?.check()
        do throws(Errno) {
            let bytes = try file.bytes(at: offset, count: count)
            return bytes.count == count ? bytes : nil
        } catch {
            throw .failed("cannot read a file: \(error)")
        }
    }
}

/// Reads numbers from bytes, with bounds checks.
struct ByteReader {
    let bytes: [UInt8]
    var isLittleEndian = false

    func number(at offset: Int, count: Int) -> UInt64? {
        guard offset >= 0, count <= 8, bytes.count >= count, offset <= bytes.count - count else { return nil }
        let part = bytes[offset..<(offset + count)]
        return isLittleEndian
            ? part.reversed().reduce(0) { $0 << 8 | UInt64($1) } : part.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
