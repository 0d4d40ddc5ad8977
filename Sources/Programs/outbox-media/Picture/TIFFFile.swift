import LinuxSystem

/// The directories of a TIFF file (TIFF 6.0, section 2) or BigTIFF file, which has wider counts and entries.
struct TIFFFile {
    /// One tag of a directory.
    struct Entry {
        var tag: Int
        /// 3 is SHORT, 4 is LONG; see ``sizes``.
        var type: Int
        var count: Int
        /// The value, or where it is.
        fileprivate var field: [UInt8]
    }

    /// NewSubfileType, bit 0: a reduced version of another picture of the file (TIFF 6.0, section 8).
    private static let subfileType = 254
    /// CFARepeatPatternDim (TIFF/EP) and DNGVersion (DNG 1.4): sensor data.
    private static let rawTags = [33421, 50706]
    private static let mostEntries = 256
    private static let longestValue = 1 << 16
    private static let longestTable = 16 << 20
    /// Bytes of a value of each type, from type 1 on.
    private static let sizes = [1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8]

    /// Whether numbers begin with their lowest byte.
    let isLittle: Bool
    private let isBig: Bool
    private let file: SharedDescriptor
    private let start: UInt64

    /// Reads the header of a file.
    ///
    /// - Parameter head: The first bytes of a TIFF file.
    /// - Returns: nil if they are too few.
    init?(_ file: SharedDescriptor, head: [UInt8]) {
        guard head.count >= 16 else { return nil }
        self.file = file
        isLittle = head[0] == 0x49
        isBig = head[isLittle ? 2 : 3] == 0x2B
        start = Self.number(isBig ? head[8..<16] : head[4..<8], isLittle)
    }

    /// Whether the first picture is a preview or raw sensor data. Raw files (DNG, NEF, ARW and others) are TIFF files
    /// whose first picture is a small preview. The preview's size is not the photograph's size.
    var isCameraRaw: Bool {
        entries.contains { entry in
            Self.rawTags.contains(entry.tag) || entry.tag == Self.subfileType && number(entry.field.prefix(4)) & 1 != 0
        }
    }

    /// The tags of the first picture.
    var entries: [Entry] { entries(at: start) }

    /// The tags of the directory that a tag points to.
    func entries(of pointer: Entry) -> [Entry] { numbers(of: pointer)?.first.map { entries(at: $0) } ?? [] }

    /// The bytes of a value; nil if the tag is damaged or its value is too long.
    func value(of entry: Entry) -> [UInt8]? { value(of: entry, longest: Self.longestValue) }

    /// The whole numbers of a tag; nil if it holds others.
    func numbers(of entry: Entry) -> [UInt64]? {
        guard [1, 3, 4, 13, 16, 18].contains(entry.type), let value = value(of: entry, longest: Self.longestTable)
        else { return nil }
        let size = Self.sizes[entry.type - 1]
        return stride(from: 0, to: value.count, by: size).map { number(value[$0..<$0 + size]) }
    }

    /// Where the tags of the first picture end, with their values, and with the directories that some of them point to.
    func end(with pointers: Set<Int>) -> UInt64 {
        let inner = entries.filter { pointers.contains($0.tag) }.compactMap { numbers(of: $0)?.first }
        return ([start] + inner).map { end(ofDirectory: $0) }.max() ?? start
    }

    private func end(ofDirectory start: UInt64) -> UInt64 {
        let entries = entries(at: start)
        let (head, length, next) = isBig ? (8, 20, 8) : (2, 12, 4)
        let values = entries.map { entry -> UInt64 in
            let size = (1...Self.sizes.count).contains(entry.type) ? Self.sizes[entry.type - 1] : 0
            let (bytes, isHuge) = size.multipliedReportingOverflow(by: entry.count)
            guard !isHuge, bytes > entry.field.count else { return 0 }
            return number(entry.field[...]) &+ UInt64(bytes)
        }
        return max(start &+ UInt64(head + length * entries.count + next), values.max() ?? 0)
    }

    private func value(of entry: Entry, longest: Int) -> [UInt8]? {
        guard (1...Self.sizes.count).contains(entry.type), (1...longest).contains(entry.count) else { return nil }
        let size = Self.sizes[entry.type - 1] * entry.count
        if size == 0 { return nil }
        if size <= entry.field.count { return Array(entry.field.prefix(size)) }
        return size <= longest ? bytes(at: number(entry.field[...]), count: size) : nil
    }

    private func entries(at start: UInt64) -> [Entry] {
        let (countLength, length, valueOffset) = isBig ? (8, 20, 12) : (2, 12, 8)
        guard let counted = bytes(at: start, count: countLength) else { return [] }
        let count = Int(min(number(counted[...]), UInt64(Self.mostEntries)))
        let entries = bytes(at: start + UInt64(countLength), count: count * length) ?? []
        return stride(from: 0, to: entries.count, by: length).map { offset in
            Entry(
                tag: Int(number(entries[offset..<offset + 2])), type: Int(number(entries[offset + 2..<offset + 4])),
                count: Int(clamping: number(entries[offset + 4..<offset + valueOffset])),
                field: Array(entries[offset + valueOffset..<offset + length]))
        }
    }

    private func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { Self.number(bytes, isLittle) }

    private static func number(_ bytes: ArraySlice<UInt8>, _ isLittle: Bool) -> UInt64 {
        (isLittle ? Array(bytes.reversed()) : Array(bytes)).reduce(0) { $0 << 8 | UInt64($1) }
    }

    private func bytes(at offset: UInt64, count: Int) -> [UInt8]? {
        guard offset < UInt64(Int64.max) - 65536 else { return nil }
        var buffer = [UInt8](repeating: 0, count: count)
        let filled = buffer.withUnsafeMutableBytes { bytes in (try? file.read(into: bytes, at: offset)) ?? 0 }
        return filled == count ? buffer : nil
    }
}
