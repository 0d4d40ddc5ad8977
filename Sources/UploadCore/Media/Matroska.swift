/// Matroska and WebM: an EBML header, in which DocType tells the two apart (RFC 8794).
enum Matroska {
    private static let header = 0x1A45_DFA3
    private static let documentType = 0x4282

    /// The DocType of an EBML file, nil where it is none or says nothing within the prefix.
    static func documentType(of prefix: MediaPrefix) -> String? {
        guard prefix.uint32(at: 0, .big) == header, let headerSize = number(in: prefix, at: 4, keepMarker: false) else {
            return nil
        }
        var offset = 4 + headerSize.length
        let end = min(prefix.count, offset + headerSize.value)
        while offset < end, let id = number(in: prefix, at: offset, keepMarker: true),
            let size = number(in: prefix, at: offset + id.length, keepMarker: false), size.value <= prefix.count
        {
            let content = offset + id.length + size.length
            if id.value == documentType {
                return ["webm", "matroska"].first { matches($0, size.value, in: prefix, at: content) }
            }
            offset = content + size.value
        }
        return nil
    }

    /// EBML strings may be padded with zero bytes.
    private static func matches(_ text: String, _ size: Int, in prefix: MediaPrefix, at offset: Int) -> Bool {
        let bytes = Array(text.utf8)
        return size >= bytes.count && prefix.has(bytes, at: offset)
            && (bytes.count..<size).allSatisfy { prefix[offset + $0] == 0 }
    }

    /// A number of variable length: the leading zero bits of its first byte tell how many bytes follow.
    private static func number(
        in prefix: MediaPrefix, at offset: Int, keepMarker: Bool
    ) -> (value: Int, length: Int)? {
        guard let first = prefix[offset], first != 0 else { return nil }
        let length = first.leadingZeroBitCount + 1
        var value = keepMarker ? Int(first) : Int(first) & ((1 << (8 - length)) - 1)
        for index in 1..<max(1, length) {
            guard let byte = prefix[offset + index], value < 1 << 47 else { return nil }
            value = value << 8 | Int(byte)
        }
        return (value, length)
    }
}
