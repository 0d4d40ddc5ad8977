import HTTPTypes

/// The URLs this server hands out. Each URL holds 128 random bits; anybody who has the URL may read the document.
struct Links {
    /// The beginning of all URLs, without a trailing slash.
    let prefix: String

    init(prefix: String) {
        self.prefix = prefix
    }

    /// - Parameter publicURL: The address of the server, with or without a slash at its end.
    init(publicURL: String) {
        prefix = publicURL.hasSuffix("/") ? String(publicURL.dropLast()) : publicURL
    }

    func file(_ content: Content) -> String { "\(prefix)/f/\(content.token)/\(Self.encoded(content.name))" }
    /// A small version of a picture.
    func small(_ content: Content, for use: SmallPictures.Use = .tile) -> String {
        "\(prefix)/t/\(use.name(of: content.token))"
    }
    func portrait(_ token: Hex128) -> String { "\(prefix)/u/\(token).jpg" }
    func source(_ commit: Commit) -> String { "\(prefix)/s/\(commit.token)" }

    /// The prefix of file URLs as a source expression of a content security policy. Source expressions allow neither
    /// IPv6 addresses nor the separators of such expressions (https://www.w3.org/TR/CSP3/#source-lists).
    var filesSource: String { source("f") }

    /// The source expression for small versions of pictures.
    var smallSource: String { source("t") }

    private func source(_ folder: String) -> String {
        let isExpression = prefix.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "-._~:/%".utf8.contains(byte)
            }
        }
        return isExpression ? "\(prefix)/\(folder)/" : "'self'"
    }

    /// Percent-encodes all characters except the unreserved ones (RFC 3986, 2.3).
    static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return encoded
    }
}

extension HTTPFields {
    /// Protects a document that only holders of its URL may read. Keeps search engines
    /// (https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag) from indexing the document, and
    /// hides its URL from linked servers (https://www.w3.org/TR/referrer-policy/).
    mutating func keepSecret() {
        for (name, value) in [("X-Robots-Tag", "noindex, nofollow"), ("Referrer-Policy", "no-referrer")] {
            if let name = HTTPField.Name(name) { self[name] = value }
        }
    }
}
