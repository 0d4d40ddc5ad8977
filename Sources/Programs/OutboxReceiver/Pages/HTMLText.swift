/// Escapes text for HTML, between tags and in quoted attributes.
enum HTMLText {
    static func escaped(_ text: String) -> String {
        if text.utf8.allSatisfy(isPlain) { return text }
        var escaped: [UInt8] = []
        escaped.reserveCapacity(text.utf8.count * 2)
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "&"): escaped.append(contentsOf: "&amp;".utf8)
            case UInt8(ascii: "<"): escaped.append(contentsOf: "&lt;".utf8)
            case UInt8(ascii: ">"): escaped.append(contentsOf: "&gt;".utf8)
            case UInt8(ascii: "\""): escaped.append(contentsOf: "&quot;".utf8)
            case UInt8(ascii: "'"): escaped.append(contentsOf: "&#39;".utf8)
            case UInt8(ascii: "\n"), UInt8(ascii: "\t"): escaped.append(UInt8(ascii: " "))
            // HTML allows no control characters, not even as references.
            case 0..<0x20, 0x7f: escaped.append(contentsOf: "\u{fffd}".utf8)
            case 0xc2 where rest.first.map { $0 < 0xa0 } ?? false:
                rest.removeFirst()
                escaped.append(contentsOf: "\u{fffd}".utf8)
            default: escaped.append(byte)
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    /// Whether a byte stands for itself. The control characters from 0x80 on begin with 0xc2 (RFC 3629).
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != 0x7f && byte != 0xc2 && !"&<>\"'".utf8.contains(byte)
    }
}
