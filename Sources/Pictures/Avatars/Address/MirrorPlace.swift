import Digests
import URLs
import UploadCore

/// Maps a URL to its place in the mirror: names of directories and, at the end, of a file (docs/faces.md).
///
/// In canonical URLs, a percent sign only occurs before two hexadecimal digits. Names with any other percent sign
/// (`%index`, `%empty`, `%file`) therefore never collide with a URL's own components.
enum MirrorPlace {
    /// Maximum length of a name. File systems allow 255 bytes; the rest is for suffixes.
    static let longestName = 200
    /// Suffix of a file whose name is already taken by a directory.
    static let fileSuffix = "%file"

    private static let hashDigits = 8
    /// The agent's own names at the top level. Other own names begin with a dot, which no host does.
    private static let ownNames: Set<String> = ["current.jpg", "wanted.txt"]

    static func parts(of url: CanonicalURL) -> [String] {
        var parts = [Array(hostName(url.host, port: url.port).utf8)]
        for part in url.path.dropLast() { parts.append(part.isEmpty ? Array("%empty".utf8) : withoutDots(part)) }
        parts.append(lastName(url.path.last ?? [], query: url.query))
        return parts.map { String(decoding: shortened($0), as: UTF8.self) }
    }

    private static func hostName(_ host: String, port: UInt16?) -> String {
        var name = host
        if let mark = host.lastIndex(of: "_"), host[mark...].utf8.dropFirst().allSatisfy(isDigit) {
            // The host name `a_80` must not look like port 80 of `a`.
            name = host[..<mark] + "%5F" + host[mark...].dropFirst()
        }
        if let port { return "\(name)_\(port)" }
        return ownNames.contains(name) ? name.split(separator: ".").joined(separator: "%2E") : name
    }

    private static func lastName(_ part: [UInt8], query: [UInt8]?) -> [UInt8] {
        let name = makingRoom(for: "3F", in: part.isEmpty ? Array("%index".utf8) : withoutDots(part))
        guard let query else { return name }
        let inOnePart = makingRoom(for: "2F", in: query)
            .flatMap { $0 == UInt8(ascii: "/") ? Array("%2F".utf8) : [$0] }
        return name + Array("%3F".utf8) + inOnePart
    }

    /// Encodes `.` and `..`, which mean the directory itself and its parent.
    private static func withoutDots(_ part: [UInt8]) -> [UInt8] {
        guard part.count <= 2, part.allSatisfy({ $0 == UInt8(ascii: ".") }) else { return part }
        return part.flatMap { _ in Array("%2E".utf8) }
    }

    /// Frees `%<code>` for another meaning: inserts `25` after the percent sign of each escape with this code,
    /// including already extended ones. Reversible by removing one `25`, so different texts stay different.
    private static func makingRoom(for code: String, in text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var rest = text[...]
        while let byte = rest.popFirst() {
            result.append(byte)
            if byte != PercentEncoding.percent { continue }
            var ahead = rest
            while ahead.starts(with: "25".utf8) { ahead = ahead.dropFirst(2) }
            if ahead.starts(with: code.utf8) { result.append(contentsOf: "25".utf8) }
        }
        return result
    }

    /// Names over 200 bytes are cut and end in a hash. Short names that look like cut ones get a hash too, so that no
    /// two URLs share a file.
    static func shortened(_ name: [UInt8]) -> [UInt8] {
        let headLength = longestName - hashDigits - 1
        guard name.count > longestName || (name.count > headLength && looksShortened(name)) else { return name }
        var head = name[..<headLength]
        if let percent = head.lastIndex(of: PercentEncoding.percent), headLength - percent < 3 {
            head = head[..<percent]
        }
        let hash = MD5Hasher.hash(name).prefix(hashDigits / 2).hexadecimal
        return head + Array("~\(hash)".utf8)
    }

    private static func looksShortened(_ name: [UInt8]) -> Bool {
        name.dropLast(hashDigits).last == UInt8(ascii: "~")
            && name.suffix(hashDigits).allSatisfy {
                isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
