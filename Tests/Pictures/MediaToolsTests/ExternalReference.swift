/// A QuickTime file whose data reference names another file for the pictures (QuickTime File Format, data reference
/// atoms; an `alis` reference is a Macintosh alias record).
enum ExternalReference {
    /// Returns the file with a data reference to `path`. The alias's file name is the last part of `path`.
    static func put(into file: ArraySlice<UInt8>, path: String) -> [UInt8] {
        var result: [UInt8] = []
        var rest = file
        while rest.count >= 8 {
            let size = max(8, rest.prefix(4).reduce(0) { $0 << 8 | Int($1) })
            let kind = String(decoding: rest.dropFirst(4).prefix(4), as: UTF8.self)
            var body = Array(rest.prefix(size).dropFirst(8))
            switch kind {
            case "moov", "trak", "mdia", "minf", "dinf": body = put(into: body[...], path: path)
            case "dref": body = Array(body.prefix(8)) + box("alis", [0, 0, 0, 0] + alias(path))
            default: break
            }
            result += box(kind, body)
            rest = rest.dropFirst(size)
        }
        return result
    }

    private static func box(_ kind: String, _ body: [UInt8]) -> [UInt8] {
        big(UInt32(body.count + 8)) + Array(kind.utf8) + body
    }

    /// An alias record: names of volume and file, levels to go up and down, then the absolute path (tag 2) and the end.
    private static func alias(_ path: String) -> [UInt8] {
        let name = Array((path.split(separator: "/").last ?? "").utf8)
        func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
        return zeros(10) + zeros(28) + zeros(12) + [UInt8(name.count)] + name + zeros(63 - name.count) + zeros(16)
            + [0, 1, 0, 1] + zeros(16) + [0, 2] + big(UInt32(path.utf8.count)).suffix(2) + Array(path.utf8)
            + (path.utf8.count % 2 == 0 ? [] : [0]) + [0xFF, 0xFF, 0, 0]
    }

    private static func big(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
