import Digests
import UploadCore

/// An entity tag of S3: mostly the MD5 of an object or part, for a multipart upload the MD5 of its parts' MD5s with a dash
/// and the number of parts.
struct ETag: Hashable, Sendable {
    /// Maximum length in bytes; the ledger stores the tag of each part.
    private static let longest = 256

    /// The tag without quotes; empty if the server gives none.
    let text: String

    /// Reads a tag as servers write it: with or without quotes, with quotes escaped as in HTML, weak, or empty.
    init(_ written: String) {
        var text = written
        if text.utf8.contains(UInt8(ascii: "&")) {
            for quote in ["&quot;", "&#34;", "&#x22;"] { text = text.replacing(quote, with: "\"") }
        }
        if text.hasPrefix("W/") { text.removeFirst(2) }
        text = String(decoding: text.utf8.filter { $0 > 0x20 && $0 != UInt8(ascii: "\"") }, as: UTF8.self)
        self.text = text.utf8.count <= Self.longest ? text : ""
    }

    /// The tag of a multipart upload whose parts have these tags.
    ///
    /// - Returns: nil if a part's tag is no MD5.
    init?(ofParts parts: [ETag]) {
        let digests = parts.map(\.digest)
        guard !parts.isEmpty, digests.allSatisfy({ $0 != nil }) else { return nil }
        text = "\(MD5Hasher.hash(digests.flatMap { $0?.bytes ?? [] }).hexadecimal)-\(parts.count)"
    }

    /// The MD5 that the tag consists of; nil for another tag.
    var digest: ContentKey? { ContentKey(hexadecimal: text) }

    /// The number of parts that the tag of a multipart upload names; nil for another tag.
    var partCount: Int? {
        let pieces = text.split(separator: "-", omittingEmptySubsequences: false)
        guard pieces.count == 2, ContentKey(hexadecimal: pieces[0]) != nil else { return nil }
        return Int(pieces[1])
    }

    /// Whether two tags are the same. Two missing tags are not.
    func matches(_ other: ETag) -> Bool { !text.isEmpty && text.lowercased() == other.text.lowercased() }
}

/// What the ledger keeps of a part: its tag and, if the upload has SHA-256 checksums, its checksum, which the completion
/// must repeat.
///
/// Example: `9e107d9d372bb6826bd81d3542a419d6 sha256=n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=`.
struct PartReceipt: Equatable, Sendable {
    private static let mark = " sha256="

    var tag: ETag
    /// In base64.
    var sha256: String?

    init(tag: ETag, sha256: String? = nil) {
        self.tag = tag
        self.sha256 = sha256
    }

    init(_ text: String) {
        // A tag has no spaces.
        let end = text.utf8.firstIndex(of: UInt8(ascii: " ")) ?? text.endIndex
        tag = ETag(String(text[..<end]))
        sha256 = text[end...].hasPrefix(Self.mark) ? String(text[end...].dropFirst(Self.mark.count)) : nil
    }

    var text: String { tag.text + (sha256.map { Self.mark + $0 } ?? "") }
}
