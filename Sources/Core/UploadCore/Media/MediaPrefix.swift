/// The first bytes of a file, with bounds checks: reading outside gives nil or false, never a crash.
struct MediaPrefix {
    // Safe: created and used only inside `MediaSignatures.sniff`, whose caller keeps the buffer alive meanwhile.
    private let bytes: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = UnsafeRawBufferPointer(rebasing: bytes.prefix(MediaSignatures.prefixLength))
    }

    /// The byte order of a number.
    enum Order {
        case big
        case little
    }

    var count: Int { bytes.count }

    subscript(_ offset: Int) -> UInt8? {
        offset >= 0 && offset < bytes.count ? bytes[offset] : nil
    }

    func uint16(at offset: Int, _ order: Order) -> Int? {
        guard let first = self[offset], let second = self[offset + 1] else { return nil }
        return order == .big ? Int(first) << 8 | Int(second) : Int(second) << 8 | Int(first)
    }

    func uint32(at offset: Int, _ order: Order) -> Int? {
        guard let first = uint16(at: offset, order), let second = uint16(at: offset + 2, order) else { return nil }
        return order == .big ? first << 16 | second : second << 16 | first
    }

    func has(_ expected: [UInt8], at offset: Int = 0) -> Bool {
        expected.withUnsafeBytes { has($0, at: offset) }
    }

    func has(_ expected: StaticString, at offset: Int = 0) -> Bool {
        has(UnsafeRawBufferPointer(start: expected.utf8Start, count: expected.utf8CodeUnitCount), at: offset)
    }

    private func has(_ expected: UnsafeRawBufferPointer, at offset: Int) -> Bool {
        guard offset >= 0, offset <= bytes.count - expected.count else { return false }
        var index = 0
        while index < expected.count, bytes[offset + index] == expected[index] { index += 1 }
        return index == expected.count
    }

    /// Whether the file begins like an SVG drawing: with the root element, optionally after an XML declaration,
    /// comments and a document type (W3C SVG 2, section 5.1).
    var isSVG: Bool {
        let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
        var start = has(byteOrderMark) ? 3 : 0
        while let byte = self[start], [0x20, 0x09, 0x0A, 0x0D].contains(byte) { start += 1 }
        if has("<svg", at: start) { return true }
        guard has("<?xml", at: start) || has("<!--", at: start) || has("<!DOCTYPE svg", at: start) else { return false }
        return (start..<count).contains { has("<svg", at: $0) }
    }

    /// Returns a four-character code of printable ASCII.
    func code(at offset: Int) -> String? {
        var text = ""
        for position in offset..<offset + 4 {
            guard let byte = self[position], (0x20...0x7E).contains(byte) else { return nil }
            text.unicodeScalars.append(Unicode.Scalar(byte))
        }
        return text
    }

    /// Whether all these bytes could belong to an ASCII text file. Ignores bytes beyond the end.
    func looksLikeText(_ range: Range<Int>) -> Bool {
        bytes[range.clamped(to: 0..<bytes.count)].allSatisfy { byte in
            (0x20...0x7E).contains(byte) || (0x09...0x0D).contains(byte)
        }
    }
}
