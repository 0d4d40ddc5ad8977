/// The address of a public picture: an absolute http or https URL, and where the mirror keeps it.
///
/// Addresses that differ in nothing but http and https are equal: they are one entry of the mirror.
public struct AvatarAddress: Hashable, Sendable {
    /// The URL as it is requested: in its canonical spelling, without fragment and user info.
    public let url: String
    /// Parts of the place below the mirror's directory: `<host>[_port]`, then the path's (docs/avatars.md). Never empty,
    /// never `.` or `..`, none over 200 bytes, all of them ASCII.
    ///
    /// Different addresses have different places but for parts over 200 bytes, whose ends are told apart by 32 bits of
    /// a hash alone; what compares addresses compares more than that.
    public let place: [String]
    /// Everything of the URL behind the scheme.
    private let identity: Substring

    /// Longest URL that is taken, in bytes.
    static let longestURL = 8192
    /// Longest place, in bytes with its slashes: of the 4,095 that the kernel takes (PATH_MAX), the rest is for the
    /// mirror's own path, a style's directory and a suffix.
    static let longestPlace = 3072

    /// Reads a URL as people write it, and brings it to its canonical spelling.
    ///
    /// Scheme and host are lower-cased, international names encoded (RFC 5890), the scheme's default port, user info
    /// and fragment dropped. Path and query stay as they are, with hexadecimal digits in upper case; characters that a
    /// URL may not hold are percent-encoded (RFC 3986). `.` and `..` are not resolved.
    ///
    /// - Throws: ``AvatarAddressError`` for other schemes, an empty or impossible host, control characters, and what is
    ///   too long.
    public init(_ text: String) throws(AvatarAddressError) {
        if text.utf8.count > Self.longestURL { throw AvatarAddressError(text, Self.tooLong) }
        let parts = try URLParts(text)
        let identity = parts.textBehindScheme
        url = parts.scheme + identity
        if url.utf8.count > Self.longestURL { throw AvatarAddressError(text, Self.tooLong) }
        self.identity = url.dropFirst(parts.scheme.count)
        place = MirrorPlace.parts(of: parts)
        if place.reduce(0, { $0 + $1.utf8.count + 1 }) > Self.longestPlace {
            throw AvatarAddressError(text, "its path has too many parts to be kept in a directory")
        }
    }

    private static let tooLong = "it is longer than \(longestURL) bytes"

    /// Whether these are the same but for http and https.
    public static func == (one: AvatarAddress, other: AvatarAddress) -> Bool { one.identity == other.identity }

    /// Consistent with `==`.
    public func hash(into hasher: inout Hasher) { hasher.combine(identity) }

    /// Whether it is asked for over TLS.
    var isSecure: Bool { url.hasPrefix("https:") }

    /// What tells this address from all others: its URL without the scheme.
    var key: String { String(identity) }
}

/// A text is not the URL of a picture that could be mirrored.
public struct AvatarAddressError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The text, shortened, and what is wrong with it, in one line.
    public let description: String

    init(_ text: String, _ reason: String) {
        description = "\"\(Self.shown(text))\" can't be mirrored: \(reason)"
    }

    /// The beginning of a text without user info, which may be a password, and without what could break the line.
    private static func shown(_ text: String) -> String {
        let slashes = text.firstRange(of: "://")?.upperBound ?? text.startIndex
        let authority = text[slashes...].prefix { !"/?#\\".contains($0) }
        var shown = text[...]
        if let at = authority.lastIndex(of: "@") { shown = text[..<slashes] + text[text.index(after: at)...] }
        let line = shown.unicodeScalars.prefix(100).map { scalar -> Character in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: "?"
            default: Character(scalar)
            }
        }
        return String(line) + (shown.unicodeScalars.count > line.count ? "…" : "")
    }
}
