import URLs

/// The address of a public picture: an absolute http or https URL, and its place in the mirror.
///
/// Addresses that differ only in http and https are equal: they share one entry of the mirror.
public struct AvatarAddress: Hashable, Sendable {
    /// The URL to request: canonical, without fragment and user info.
    public let url: String
    /// Path components of the place below the mirror's directory: `<host>[_port]`, then the URL's path
    /// (docs/faces.md). Never empty, never `.` or `..`, none over 200 bytes, all ASCII.
    ///
    /// Different addresses have different places, with one exception: components over 200 bytes are cut, and differ
    /// only by a 32-bit hash. Code that compares addresses must therefore not compare places alone.
    public let place: [String]
    /// The URL without the scheme.
    private let identity: Substring

    /// Maximum length of a URL, in bytes.
    static let longestURL = 8192
    /// Maximum length of a place, in bytes with its slashes. The kernel allows 4,095 bytes (PATH_MAX); the rest is for
    /// the mirror's own path, a style's directory and a suffix.
    static let longestPlace = 3072

    /// Parses a URL as people write it, and converts it to its canonical form.
    ///
    /// Scheme and host become lower case, international names are encoded (RFC 5890), and the scheme's default port,
    /// user info and fragment are dropped. Path and query stay unchanged, except that hexadecimal digits become upper
    /// case, and characters not allowed in a URL are percent-encoded (RFC 3986). `.` and `..` are not resolved.
    ///
    /// - Throws: ``AvatarAddressError`` for other schemes, an empty or invalid host, control characters, and URLs that
    ///   are too long.
    public init(_ text: String) throws(AvatarAddressError) {
        if text.utf8.count > Self.longestURL { throw AvatarAddressError(text, Self.tooLong) }
        let parts: CanonicalURL
        do {
            parts = try CanonicalURL(text)
        } catch {
            throw AvatarAddressError(text, error.reason)
        }
        url = parts.text
        if url.utf8.count > Self.longestURL { throw AvatarAddressError(text, Self.tooLong) }
        identity = url.dropFirst(parts.scheme.count)
        place = MirrorPlace.parts(of: parts)
        if place.reduce(0, { $0 + $1.utf8.count + 1 }) > Self.longestPlace {
            throw AvatarAddressError(text, "its path has too many parts to be kept in a directory")
        }
    }

    private static let tooLong = "it is longer than \(longestURL) bytes"

    /// Whether both addresses are equal except for http and https.
    public static func == (one: AvatarAddress, other: AvatarAddress) -> Bool { one.identity == other.identity }

    /// Consistent with `==`.
    public func hash(into hasher: inout Hasher) { hasher.combine(identity) }

    /// Whether the URL uses TLS.
    var isSecure: Bool { url.hasPrefix("https:") }

    /// A unique key of the address: its URL without the scheme.
    var key: String { String(identity) }
}

/// The text is not the URL of a picture that can be mirrored.
public struct AvatarAddressError: Error, Equatable, Sendable, CustomStringConvertible {
    /// One line: the text, shortened, and its error.
    public let description: String

    init(_ text: String, _ reason: String) {
        description = "\"\(Self.shown(text))\" can't be mirrored: \(reason)"
    }

    /// The beginning of a text, without user info, which may be a password, and without characters that could break
    /// the line.
    private static func shown(_ text: String) -> String {
        let shown = WebURL.withoutUserInfo(text)
        let line = shown.unicodeScalars.prefix(100).map { scalar -> Character in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: "?"
            default: Character(scalar)
            }
        }
        return String(line) + (shown.unicodeScalars.count > line.count ? "…" : "")
    }
}
