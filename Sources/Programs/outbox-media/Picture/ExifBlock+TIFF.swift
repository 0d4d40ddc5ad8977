extension ExifBlock {
    /// Tags of a TIFF file that describe the photograph and not how its pixels are stored (EXIF 2.32, 4.6.4):
    /// description, make, model, orientation, resolution, software, date, artist, copyright.
    static let described: Set<Int> = [
        0x010E, 0x010F, 0x0110, 0x0112, 0x011A, 0x011B, 0x0128, 0x0131, 0x0132, 0x013B, 0x8298,
    ]
    /// Tags that point to a directory: EXIF and GPS.
    static let pointers: Set<Int> = [0x8769, 0x8825]
    /// Maker notes point into the file they were written to, as does the directory of interoperability.
    private static let bound: Set<Int> = [0x927C, 0xA005]
    private static let headerLength = 8

    /// Collects the EXIF data of a TIFF file, where it is spread over the file.
    ///
    /// - Returns: nil if there is none.
    /// - Throws: ``ContainerFailure`` if some of it can't be moved to another file.
    init?(collectedFrom file: TIFFFile) throws(ContainerFailure) {
        let entries = file.entries
        var first = try Self.fields(entries.filter { Self.described.contains($0.tag) }, in: file)
        var inner: [(tag: Int, entries: [Field])] = []
        for pointer in entries where Self.pointers.contains(pointer.tag) {
            inner.append((pointer.tag, try Self.fields(file.entries(of: pointer), in: file)))
        }
        if first.isEmpty && inner.isEmpty { return nil }
        for directory in inner { first.append(Field(tag: directory.tag, type: 4, count: 1, value: [0, 0, 0, 0])) }
        // The length of the first directory does not depend on where the others will be.
        let length = Self.directory(first, at: 0, isLittle: file.isLittle).count
        var rest: [UInt8] = []
        for directory in inner {
            let start = Self.headerLength + length + rest.count
            if let index = first.firstIndex(where: { $0.tag == directory.tag }) {
                first[index].value = Self.bytes(of: start, count: 4, file.isLittle)
            }
            rest += Self.directory(directory.entries, at: start, isLittle: file.isLittle)
        }
        let header: [UInt8] = file.isLittle ? [0x49, 0x49, 0x2A, 0, 8, 0, 0, 0] : [0x4D, 0x4D, 0, 0x2A, 0, 0, 0, 8]
        self.init(header + Self.directory(first, at: Self.headerLength, isLittle: file.isLittle) + rest)
    }

    private static func fields(_ entries: [TIFFFile.Entry], in file: TIFFFile) throws(ContainerFailure) -> [Field] {
        if entries.contains(where: { bound.contains($0.tag) }) { throw .holdsMore }
        let fields = entries.compactMap { Field($0, in: file) }
        guard fields.count == entries.count else { throw .holdsMore }
        return fields
    }

    /// A tag with its value.
    private struct Field {
        var tag: Int
        var type: Int
        var count: Int
        var value: [UInt8]

        init(tag: Int, type: Int, count: Int, value: [UInt8]) {
            (self.tag, self.type, self.count, self.value) = (tag, type, count, value)
        }

        init?(_ entry: TIFFFile.Entry, in file: TIFFFile) {
            guard let value = file.value(of: entry) else { return nil }
            self.init(tag: entry.tag, type: entry.type, count: entry.count, value: value)
        }
    }

    /// Encodes a directory, followed by the values that don't fit into it.
    private static func directory(_ tags: [Field], at start: Int, isLittle: Bool) -> [UInt8] {
        let tags = tags.sorted { $0.tag < $1.tag }
        var entries = bytes(of: tags.count, count: 2, isLittle)
        var values: [UInt8] = []
        let end = start + 2 + 12 * tags.count + 4
        for tag in tags {
            entries += bytes(of: tag.tag, count: 2, isLittle) + bytes(of: tag.type, count: 2, isLittle)
            entries += bytes(of: tag.count, count: 4, isLittle)
            if tag.value.count <= 4 {
                entries += tag.value + [UInt8](repeating: 0, count: 4 - tag.value.count)
            } else {
                entries += bytes(of: end + values.count, count: 4, isLittle)
                values += tag.value + (tag.value.count % 2 == 0 ? [] : [0])
            }
        }
        return entries + [0, 0, 0, 0] + values
    }

    private static func bytes(of number: Int, count: Int, _ isLittle: Bool) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * (isLittle ? $0 : count - 1 - $0))) }
    }
}
