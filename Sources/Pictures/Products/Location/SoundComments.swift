/// Comments in the configuration of sound: those of Vorbis (Vorbis I specification, 5), which FLAC has too (RFC 9639, 8.6).
struct SoundComments {
    /// The changes that overwrite comments, and other blocks of FLAC, in place.
    private(set) var patches = Patches()
    /// Where the configuration is in the file.
    private let place: UInt64
    private let bytes: [UInt8]
    /// Whether a comment stays, by its name and text.
    private let stays: (_ name: String, _ text: ArraySlice<UInt8>) -> Bool

    private static let vorbis = Array("vorbis".utf8)
    private static let flac = Array("fLaC".utf8)

    /// - Parameter place: where `bytes` begin in the file.
    init(_ bytes: [UInt8], at place: UInt64, stays: @escaping (String, ArraySlice<UInt8>) -> Bool) {
        (self.bytes, self.place, self.stays) = (bytes, place, stays)
    }

    private func number(at offset: Int, count: Int, isLittle: Bool) -> Int? {
        ByteReader(bytes: bytes, isLittleEndian: isLittle).number(at: offset, count: count).map(Int.init)
    }

    /// Searches the three packets of Vorbis, as Matroska stores them: the second has the comments.
    ///
    /// - Throws: `refused` if the packets can't be read to the end.
    mutating func searchVorbis() throws(ProductFailure) {
        guard let start = HiddenPositions.find([3] + Self.vorbis, in: bytes).first else { throw Self.damaged }
        try searchComments(from: start + 1 + Self.vorbis.count)
    }

    /// Searches the blocks of FLAC.
    ///
    /// - Throws: `refused` if the blocks can't be read to the end.
    mutating func searchFLAC(from start: Int) throws(ProductFailure) {
        var offset = bytes[start...].starts(with: Self.flac) ? start + Self.flac.count : start
        while offset + 4 <= bytes.count, let size = number(at: offset + 1, count: 3, isLittle: false) {
            let content = (offset + 4)..<(offset + 4 + size)
            guard content.upperBound <= bytes.count else { throw Self.damaged }
            let type = bytes[offset] & 0x7F
            switch type {
            // The stream, padding, and a table of places.
            case 0, 1, 3: break
            case 4: try searchComments(from: content.lowerBound)
            default:
                try patches.append(.bytes([bytes[offset] & 0x80 | 1], at: place + UInt64(offset)))
                try patches.append(.zeros(range(content)))
            }
            if bytes[offset] & 0x80 != 0 { return }
            offset = content.upperBound
        }
    }

    private mutating func searchComments(from start: Int) throws(ProductFailure) {
        guard let vendor = number(at: start, count: 4, isLittle: true), vendor <= bytes.count,
            let count = number(at: start + 4 + vendor, count: 4, isLittle: true)
        else { throw Self.damaged }
        var offset = start + 8 + vendor
        for _ in 0..<count {
            guard let size = number(at: offset, count: 4, isLittle: true), size <= bytes.count - offset - 4 else {
                throw Self.damaged
            }
            let comment = bytes[(offset + 4)..<(offset + 4 + size)]
            let name = comment.prefix { $0 != UInt8(ascii: "=") }
            let isBlank = comment.allSatisfy { $0 == UInt8(ascii: " ") }
            if !isBlank, !stays(String(decoding: name, as: UTF8.self).uppercased(), comment) {
                try patches.append(.spaces(range(comment.indices)))
            }
            offset += 4 + size
        }
    }

    private func range(_ range: Range<Int>) -> Range<UInt64> {
        (place + UInt64(range.lowerBound))..<(place + UInt64(range.upperBound))
    }

    private static let damaged = ProductFailure.refused("the comments of the sound can't be read")
}
