import Digests
import UploadCore

/// Where the mirror keeps a URL: names of directories and, at the end, of a file (docs/avatars.md).
///
/// Canonical URLs hold a percent sign only before two hexadecimal digits, so names with any other (`%index`, `%empty`,
/// `%file`) are never taken by a URL's own parts.
enum MirrorPlace {
    /// Longest name of a directory or file, less what suffixes need of the 255 bytes file systems take.
    static let longestName = 200
    /// Put behind a file's name where a directory bears it.
    static let fileSuffix = "%file"

    private static let hashDigits = 8
    /// The agent's own names at the top that do not begin with a dot, as no host does.
    private static let ownNames: Set<String> = ["current.jpg", "wanted.txt"]

    static func parts(of url: URLParts) -> [String] {
        var parts = [Array(hostName(url.host, port: url.port).utf8)]
        for part in url.path.dropLast() { parts.append(part.isEmpty ? Array("%empty".utf8) : withoutDots(part)) }
        parts.append(lastName(url.path.last ?? [], query: url.query))
        return parts.map { String(decoding: shortened($0), as: UTF8.self) }
    }

    private static func hostName(_ host: String, port: UInt16?) -> String {
        var name = host
        if let mark = host.lastIndex(of: "_"), host[mark...].utf8.dropFirst().allSatisfy(isDigit) {
            // `a_80` as a host's name must not look like port 80 of `a`.
            name = host[..<mark] + "%5F" + host[mark...].dropFirst()
        }
        if let port { return "\(name)_\(port)" }
        return ownNames.contains(name) ? name.split(separator: ".").joined(separator: "%2E") : name
    }

    private static func lastName(_ part: [UInt8], query: [UInt8]?) -> [UInt8] {
        let name = PercentEncoding.makingRoom(for: "3F", in: part.isEmpty ? Array("%index".utf8) : withoutDots(part))
        guard let query else { return name }
        let inOnePart = PercentEncoding.makingRoom(for: "2F", in: query)
            .flatMap { $0 == UInt8(ascii: "/") ? Array("%2F".utf8) : [$0] }
        return name + Array("%3F".utf8) + inOnePart
    }

    /// Names of dots alone are the directory itself and the one above.
    private static func withoutDots(_ part: [UInt8]) -> [UInt8] {
        guard part.count <= 2, part.allSatisfy({ $0 == UInt8(ascii: ".") }) else { return part }
        return part.flatMap { _ in Array("%2E".utf8) }
    }

    /// Names over 200 bytes end in a hash; so do those that only look as if, lest they be taken for one another.
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
