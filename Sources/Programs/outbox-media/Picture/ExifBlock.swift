/// The EXIF data of a picture: a TIFF structure with directories of tags (TIFF 6.0, section 2; EXIF 2.32, 4.6).
struct ExifBlock {
    private enum Tag: UInt16 {
        /// Of the first directory: the size of the picture, as some cameras write it.
        case imageWidth = 0x0100
        case imageLength = 0x0101
        /// Of the first directory: how the picture must be turned.
        case orientation = 0x0112
        /// Of the first directory: where the directory of EXIF tags is.
        case directory = 0x8769
        /// Of the directory of EXIF tags: the size of the picture.
        case width = 0xA002
        case height = 0xA003
        /// Of the directory of EXIF tags: where in the picture its subject is.
        case subjectArea = 0x9214
        case subjectLocation = 0xA214
        /// Of the directory of EXIF tags: where the directory of interoperability is.
        case interoperability = 0xA005
        /// Of the directory of interoperability: the size of the picture.
        case relatedWidth = 0x1001
        case relatedHeight = 0x1002
    }

    /// Precedes the TIFF structure in JPEG files.
    static let signature = Array("Exif\0\0".utf8)

    /// The TIFF structure.
    private(set) var bytes: [UInt8]
    private let isLittle: Bool

    /// Takes the block of a file, with or without the signature of JPEG files.
    ///
    /// - Returns: nil if the bytes are something else.
    init?(_ block: [UInt8]) {
        bytes = block.starts(with: Self.signature) ? Array(block.dropFirst(Self.signature.count)) : block
        isLittle = bytes.first == 0x49
        guard bytes.count >= 8, bytes.starts(with: isLittle ? [0x49, 0x49, 0x2A, 0] : [0x4D, 0x4D, 0, 0x2A]) else {
            return nil
        }
    }

    /// How the picture must be turned, 1 to 8; 1 if nothing is said.
    var orientation: Int {
        place(of: .orientation, in: first).flatMap { number(at: $0.offset, count: $0.count) } ?? 1
    }

    /// Changes the orientation to "upright". Does nothing if there is none.
    mutating func setUpright() {
        if let place = place(of: .orientation, in: first) { set(place, to: 1) }
    }

    /// Changes what is said about the pixels: the size becomes right; the place of the subject goes, and with turned
    /// pixels also the thumbnail.
    mutating func fit(width: Int, height: Int, isTurned: Bool) {
        let inner = directory(.directory, in: first)
        let related = directory(.interoperability, in: inner)
        let sizes: [(Tag, Int?, Int)] = [
            (.imageWidth, first, width), (.imageLength, first, height), (.width, inner, width),
            (.height, inner, height), (.relatedWidth, related, width), (.relatedHeight, related, height),
        ]
        for (tag, directory, value) in sizes {
            if let place = place(of: tag, in: directory) { set(place, to: value) }
        }
        for tag in [Tag.subjectArea, .subjectLocation] { remove(tag, from: inner) }
        // The first directory is followed by where the thumbnail's is.
        if isTurned, let first, let count = number(at: first, count: 2) {
            set((first + 2 + 12 * count, 4), to: 0)
        }
    }

    /// Where the first directory is.
    private var first: Int? { number(at: 4, count: 4) }

    private func directory(_ tag: Tag, in directory: Int?) -> Int? {
        place(of: tag, in: directory).flatMap { number(at: $0.offset, count: $0.count) }
    }

    /// Removes a tag's entry; those behind it move up.
    private mutating func remove(_ tag: Tag, from directory: Int?) {
        guard let directory, let count = number(at: directory, count: 2),
            let index = (0..<count).first(where: {
                number(at: directory + 2 + 12 * $0, count: 2) == Int(tag.rawValue)
            })
        else { return }
        let (start, end) = (directory + 2 + 12 * index, directory + 2 + 12 * count + 4)
        guard end <= bytes.count else { return }
        bytes.replaceSubrange(start..<end, with: bytes[(start + 12)..<end] + [UInt8](repeating: 0, count: 12))
        set((directory, 2), to: count - 1)
    }

    /// Where the number of a tag is.
    private func place(of tag: Tag, in directory: Int?) -> (offset: Int, count: Int)? {
        guard let directory, let entries = number(at: directory, count: 2) else { return nil }
        for entry in 0..<entries {
            let offset = directory + 2 + 12 * entry
            guard let found = number(at: offset, count: 2) else { return nil }
            if found != Int(tag.rawValue) { continue }
            // Types 3 and 4: SHORT and LONG, left-aligned in the field.
            switch (number(at: offset + 2, count: 2), number(at: offset + 4, count: 4)) {
            case (3, 1): return (offset + 8, 2)
            case (4, 1): return (offset + 8, 4)
            default: return nil
            }
        }
        return nil
    }

    private func number(at offset: Int?, count: Int) -> Int? {
        guard let offset, offset >= 0, offset + count <= bytes.count else { return nil }
        let field = bytes[offset..<offset + count]
        return (isLittle ? Array(field.reversed()) : Array(field)).reduce(0) { $0 << 8 | Int($1) }
    }

    private mutating func set(_ place: (offset: Int, count: Int), to value: Int) {
        guard place.offset + place.count <= bytes.count else { return }
        for index in 0..<place.count {
            let shift = 8 * (isLittle ? index : place.count - 1 - index)
            bytes[place.offset + index] = UInt8(truncatingIfNeeded: value >> shift)
        }
    }
}
