/// An element of EBML (RFC 8794, section 5).
struct Element {
    let id: UInt64
    let range: Range<UInt64>
    let content: Range<UInt64>
    let hasUnknownSize: Bool

    /// Reads the header of an element; nil if there is none. An element that reaches over the end is cut.
    init?(at offset: UInt64, in part: FilePart) throws(ProductFailure) {
        guard offset < part.range.upperBound else { return nil }
        let count = Int(min(12, part.range.upperBound - offset))
        guard let header = try part.bytes(at: offset, count: count),
            let id = VariableNumber(header[...], keepsMarker: true), id.length <= 4,
            let size = VariableNumber(header.dropFirst(id.length), keepsMarker: false)
        else { return nil }
        self.id = id.value
        hasUnknownSize = size.isUnknown
        let start = offset + UInt64(id.length + size.length)
        let end = size.isUnknown ? part.range.upperBound : min(start + size.value, part.range.upperBound)
        guard start <= end else { return nil }
        range = offset..<end
        content = start..<end
    }

    static let void: UInt64 = 0xEC

    /// Makes the element void, with a size of one or eight bytes (RFC 8794, 11.3.2); nothing if it is already.
    func removal(in part: FilePart, _ cancellation: Cancellation) throws(ProductFailure) -> Patches {
        if id == Self.void { return try part.clearing(content, cancellation) }
        let count = UInt64(range.count)
        let void: [UInt8]
        if count - 2 < 0x7F {
            void = [0xEC, UInt8(0x80 | count - 2)]
        } else {
            let size = count - 9 | 1 << 56
            void = [0xEC] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: size >> (8 * $0)) }
        }
        return [.bytes(void, at: range.lowerBound), .zeros((range.lowerBound + UInt64(void.count))..<range.upperBound)]
    }
}

/// A number with a length of its own (RFC 8794, section 4).
struct VariableNumber {
    let value: UInt64
    let length: Int
    /// Whether all bits are set, as in a size that was unknown when it was written.
    let isUnknown: Bool

    /// - Parameter keepsMarker: Whether the marker of the length counts, as in element IDs.
    init?(_ bytes: ArraySlice<UInt8>, keepsMarker: Bool) {
        guard let first = bytes.first, first != 0 else { return nil }
        length = first.leadingZeroBitCount + 1
        guard bytes.count >= length else { return nil }
        let whole = bytes.prefix(length).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let marker = UInt64(1) << (7 * UInt64(length))
        value = keepsMarker ? whole : whole & (marker - 1)
        isUnknown = whole & (marker - 1) == marker - 1
    }
}
