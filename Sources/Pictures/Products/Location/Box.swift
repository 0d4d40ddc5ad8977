/// A box of an MP4 or QuickTime file (ISO 14496-12, 4.2).
struct Box {
    /// The type, such as `moov`; each byte is a character, so that `©xyz` has four.
    let type: String
    /// The whole box.
    let range: Range<UInt64>
    /// The content, after size and type.
    let content: Range<UInt64>

    /// Reads the header of a box; nil if there is none at this offset, or if the box reaches over the end.
    init?(at offset: UInt64, in part: FilePart) throws(ProductFailure) {
        guard let header = try part.bytes(at: offset, count: 8) else { return nil }
        let reader = ByteReader(bytes: header)
        var size = reader.number(at: 0, count: 4) ?? 0
        var length: UInt64 = 8
        if size == 1 {
            guard let large = try part.bytes(at: offset + 8, count: 8) else { return nil }
            size = ByteReader(bytes: large).number(at: 0, count: 8) ?? 0
            length = 16
        } else if size == 0 {
            // Up to the end of the file.
            size = part.range.upperBound - offset
        }
        guard size >= length, size <= part.range.upperBound - offset else { return nil }
        type = String(String.UnicodeScalarView(header[4...].map { Unicode.Scalar($0) }))
        range = offset..<(offset + size)
        content = (offset + length)..<(offset + size)
    }

    /// Whether the type consists of printable characters, as all known types do.
    var isNamed: Bool { type.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F } }

    /// Makes the box free space (ISO 14496-12, 8.1.2); nothing if it is already.
    func removal(in part: FilePart, _ cancellation: Cancellation) throws(ProductFailure) -> Patches {
        let cleared = try part.clearing(content, cancellation)
        if cleared.isEmpty, ["free", "skip", "wide"].contains(type) { return [] }
        var removal: Patches = [.bytes(Array("free".utf8), at: range.lowerBound + 4)]
        try removal += cleared
        return removal
    }
}
