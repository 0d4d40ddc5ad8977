/// Matroska and WebM: an EBML header whose DocType distinguishes them (RFC 8794).
enum Matroska {
    private static let header: [UInt8] = [0x1A, 0x45, 0xDF, 0xA3]
    private static let documentType = 0x4282

    /// Whether the file is EBML. Hardly any other format uses EBML, so DocType does not matter.
    static func matches(_ prefix: MediaPrefix) -> Bool { prefix.has(header) }

    /// Whether the prefix contains a DocType of WebM.
    static func isWebM(_ prefix: MediaPrefix) -> Bool {
        guard matches(prefix), let headerSize = number(in: prefix, at: 4, keepMarker: false) else { return false }
        var offset = 4 + headerSize.length
        let end = min(prefix.count, offset + headerSize.value)
        while offset < end, let id = number(in: prefix, at: offset, keepMarker: true),
            let size = number(in: prefix, at: offset + id.length, keepMarker: false), size.value <= prefix.count
        {
            let content = offset + id.length + size.length
            if id.value == documentType {
                return says("webm", size.value, in: prefix, at: content)
            }
            offset = content + size.value
        }
        return false
    }

    /// EBML strings may be padded with zero bytes.
    private static func says(_ text: String, _ size: Int, in prefix: MediaPrefix, at offset: Int) -> Bool {
        let bytes = Array(text.utf8)
        return size >= bytes.count && prefix.has(bytes, at: offset)
            && (bytes.count..<size).allSatisfy { prefix[offset + $0] == 0 }
    }

    /// Reads a number of variable length. The leading zero bits of its first byte give the number of further bytes.
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
