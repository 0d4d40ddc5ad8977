/// The URL of one request, and the target of a redirect from it.
struct HopURL: Equatable, Sendable {
    private let parts: URLParts

    /// nil if the text is no http or https URL (``AvatarAddress``).
    init?(_ text: String) {
        guard let parts = try? URLParts(text) else { return nil }
        self.parts = parts
    }

    /// The URL to request.
    var text: String { parts.scheme + parts.textBehindScheme }

    /// Lower case; an IPv6 address in brackets.
    var host: String { parts.host }

    /// Whether the request uses TLS.
    var isSecure: Bool { parts.scheme == "https:" }

    /// Resolves a `Location` (RFC 3986, section 5.2); nil if the result is no http or https URL.
    func following(_ location: String) -> HopURL? {
        let reference = location.prefix { $0 != "#" }
        if let colon = reference.firstIndex(of: ":"), Self.isScheme(reference[..<colon]) {
            return HopURL(String(reference))
        }
        if reference.hasPrefix("//") { return HopURL(parts.scheme + reference) }
        if reference.hasPrefix("/") { return HopURL(origin + reference) }
        if reference.isEmpty { return self }
        let path = text.dropFirst(origin.count).prefix { $0 != "?" }
        if reference.hasPrefix("?") { return HopURL(origin + path + reference) }
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? "/"
        let merged = Self.withoutDots(folder + reference.prefix { $0 != "?" })
        return HopURL(origin + merged + reference.drop { $0 != "?" })
    }

    private var origin: String { "\(parts.scheme)//\(parts.host)\(parts.port.map { ":\($0)" } ?? "")" }

    /// RFC 3986, section 3.1.
    private static func isScheme(_ text: Substring) -> Bool {
        guard let first = text.first, first.isASCII, first.isLetter else { return false }
        return text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
    }

    /// RFC 3986, section 5.2.4.
    private static func withoutDots(_ path: Substring) -> String {
        var parts: [Substring] = []
        let all = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        for (index, part) in all.enumerated() {
            let isDots = part == "." || part == ".."
            if part == ".." { _ = parts.popLast() }
            if !isDots { parts.append(part) } else if index == all.count - 1 { parts.append("") }
        }
        return "/" + parts.joined(separator: "/")
    }
}
