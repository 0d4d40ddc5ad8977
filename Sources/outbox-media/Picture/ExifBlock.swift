/// The EXIF data of a picture: a TIFF structure with directories of tags (TIFF 6.0, section 2; EXIF 2.32, 4.6).
struct ExifBlock {
    /// A tag with one number.
    enum Tag: UInt16 {
        /// Of the first directory: how the picture must be turned.
        case orientation = 0x0112
        /// Of the first directory: where the directory of EXIF tags is.
        case directory = 0x8769
        /// Of the directory of EXIF tags: the size of the picture.
        case width = 0xA002
        case height = 0xA003
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

    /// Changes the orientation to "upright". Does nothing if there is none.
    mutating func setUpright() {
        if let place = place(of: .orientation, in: number(at: 4, count: 4)) { set(place, to: 1) }
    }

    /// Changes the size of the picture. Does nothing if there is none.
    mutating func setSize(width: Int, height: Int) {
        guard let pointer = place(of: .directory, in: number(at: 4, count: 4)) else { return }
        let directory = number(at: pointer.offset, count: pointer.count)
        for (tag, value) in [(Tag.width, width), (.height, height)] {
            if let place = place(of: tag, in: directory) { set(place, to: value) }
        }
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
