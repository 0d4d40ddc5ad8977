/// The directories of an EXIF block: a TIFF structure (TIFF 6.0, section 2; EXIF 2.32, 4.6). Readers differ in what they make
/// of a damaged directory, so a block that can't be read to the end is refused.
struct ExifDirectories {
    /// How much a block may deviate.
    enum Strictness {
        /// A block of EXIF, as all programs write it.
        case full
        /// A camera raw file, with entries of its maker.
        case raw
    }

    /// A directory of positions.
    struct Positions {
        /// Where the directory begins in the file.
        var place: UInt64
        /// The entries, of 12 bytes each.
        var entries: ByteReader
    }

    /// The directories of positions that hold more than the version of the format.
    private(set) var positions: [Positions] = []
    /// Whether numbers begin with their lowest byte.
    let isLittle: Bool

    private let block: FilePart
    private let strictness: Strictness
    private var references = 0

    /// Tags that lead to directories: those within the file, of EXIF, and of interoperability.
    private static let pointers: Set<UInt64> = [330, 0x8769, 0xA005]
    private static let positionPointer: UInt64 = 0x8825
    private static let typesOfPointers: Set<UInt64> = [3, 4, 8, 9, 13]
    /// The types of TIFF, and UTF-8 of EXIF 3.0.
    private static let types = Set<UInt64>(1...13).union([129])
    private static let sizes: [UInt64] = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4]
    private static let mostDirectories = 1000
    private static let mostReferences = 10_000

    /// Returns the size of a value; nil for an unknown type.
    static func size(ofType type: UInt64) -> UInt64? {
        types.contains(type) ? type < sizes.count ? sizes[Int(type)] : 1 : nil
    }

    /// Reads all directories of a block.
    ///
    /// - Parameter block: From the header of the TIFF structure to the end of the block.
    /// - Throws: ``ProductFailure``; `refused` if a directory can't be read.
    init(in block: FilePart, _ strictness: Strictness = .full) throws(ProductFailure) {
        (self.block, self.strictness) = (block, strictness)
        let header = try block.bytes(at: block.range.lowerBound, count: min(8, block.range.count)) ?? []
        let order = header.prefix(2)
        isLittle = order.elementsEqual("II".utf8)
        let reader = ByteReader(bytes: header, isLittleEndian: isLittle)
        guard isLittle || order.elementsEqual("MM".utf8), let first = reader.number(at: 4, count: 4),
            strictness == .raw || reader.number(at: 2, count: 2) == 42
        else {
            // Some programs leave an empty block.
            if header.allSatisfy({ $0 == 0 }), try isBlank() { return }
            throw Self.unreadable("header")
        }
        var seen: Set<UInt64> = []
        var open = [first]
        var isOfChain = true
        while let offset = open.popLast() {
            let follows = isOfChain
            isOfChain = false
            guard offset > 0, seen.insert(offset).inserted else { continue }
            if seen.count > Self.mostDirectories { throw .refused("the EXIF data have too many directories") }
            // The directories of the main chain come first.
            if let next = try read(at: offset, &open, follows: follows) {
                open.append(next)
                isOfChain = true
            }
        }
    }

    private static func unreadable(_ what: String) -> ProductFailure {
        .refused("the \(what) of the EXIF data can't be read, so positions may be left")
    }

    private func isBlank() throws(ProductFailure) -> Bool {
        guard block.range.count <= 1 << 16 else { return false }
        return try block.bytes(at: block.range.lowerBound, count: block.range.count)?.allSatisfy { $0 == 0 } ?? false
    }

    /// Reads the entries of a directory; nil if it reaches over the end of the block.
    private func entries(at offset: UInt64) throws(ProductFailure) -> ByteReader? {
        let start = block.range.lowerBound + offset
        guard let count = try number(at: start, count: 2),
            let entries = try block.bytes(at: start + 2, count: 12 * Int(count))
        else { return nil }
        return ByteReader(bytes: entries, isLittleEndian: isLittle)
    }

    private func number(at place: UInt64, count: Int) throws(ProductFailure) -> UInt64? {
        let bytes = try block.bytes(at: place, count: count)
        return bytes.flatMap { ByteReader(bytes: $0, isLittleEndian: isLittle).number(at: 0, count: count) }
    }

    /// Reads a directory.
    ///
    /// - Parameter open: Receives the directories within it.
    /// - Returns: The next directory of the main chain; nil if there is none in the block.
    private mutating func read(
        at offset: UInt64, _ open: inout [UInt64], follows: Bool
    ) throws(ProductFailure) -> UInt64? {
        guard let entries = try entries(at: offset) else { throw Self.unreadable("directory") }
        let count = entries.bytes.count / 12
        for index in 0..<count {
            guard let entry = try entry(index, of: entries) else { continue }
            let place = block.range.lowerBound + offset + 2 + UInt64(12 * index) + 8
            if entry.tag == Self.positionPointer {
                for target in try targets(of: entry, at: place) { try addPositions(at: target) }
            } else if Self.pointers.contains(entry.tag) || entry.type == 13 {
                open += try targets(of: entry, at: place)
            }
        }
        let end = block.range.lowerBound + offset + 2 + UInt64(12 * count)
        // exiftool reads no directory with such an end.
        if [1, 3].contains(block.range.upperBound - end) { throw Self.unreadable("end of a directory") }
        // Only the first directory and its successors are followed by another; some programs leave out its place.
        guard follows, let next = try number(at: end, count: 4) else { return nil }
        // Nobody can read a directory outside of the block.
        return next + 2 <= UInt64(block.range.count) ? next : nil
    }

    private struct Entry {
        var tag: UInt64
        var type: UInt64
        var count: UInt64
    }

    /// Returns an entry; nil for padding, and for what only the maker of a raw file understands.
    ///
    /// exiftool skips the rest of a directory if its first entry has an unknown type.
    private func entry(_ index: Int, of entries: ByteReader) throws(ProductFailure) -> Entry? {
        guard let tag = entries.number(at: 12 * index, count: 2),
            let type = entries.number(at: 12 * index + 2, count: 2),
            let count = entries.number(at: 12 * index + 4, count: 4)
        else { throw Self.unreadable("directory") }
        if Self.types.contains(type) { return Entry(tag: tag, type: type, count: count) }
        let rest = entries.bytes[(12 * index)...]
        let isBlank = rest.prefix(12).allSatisfy { $0 == 0 }
        if isBlank, index > 0 || rest.allSatisfy({ $0 == 0 }) { return nil }
        // Some of Sony's cameras have an empty first entry.
        if strictness == .raw, index > 0 || isBlank { return nil }
        throw Self.unreadable("entry \(index) of a directory")
    }

    /// Returns the numbers in an entry that leads to other places.
    ///
    /// - Parameter place: Where the field of its value is.
    private mutating func targets(of entry: Entry, at place: UInt64) throws(ProductFailure) -> [UInt64] {
        guard Self.typesOfPointers.contains(entry.type), entry.count > 0 else {
            throw Self.unreadable("place of a directory")
        }
        let size = Self.size(ofType: entry.type) ?? 1
        references += Int(clamping: entry.count)
        if references > Self.mostReferences { throw .refused("the EXIF data have too many directories") }
        var start = place
        if size * entry.count > 4 {
            guard let offset = try number(at: place, count: 4) else { throw Self.unreadable("place of a directory") }
            start = block.range.lowerBound + offset
        }
        var targets: [UInt64] = []
        for index in 0..<entry.count {
            guard let target = try number(at: start + index * size, count: Int(size)) else {
                throw Self.unreadable("place of a directory")
            }
            targets.append(target)
        }
        return targets
    }

    /// Adds a directory of positions, unless it holds only the version of the format, or nothing.
    private mutating func addPositions(at offset: UInt64) throws(ProductFailure) {
        if offset == 0 { return }
        guard let entries = try entries(at: offset) else { throw Self.unreadable("directory of positions") }
        let holdsMore = (0..<(entries.bytes.count / 12)).contains { (entries.number(at: 12 * $0, count: 2) ?? 0) != 0 }
        if holdsMore { positions.append(Positions(place: block.range.lowerBound + offset, entries: entries)) }
    }
}
