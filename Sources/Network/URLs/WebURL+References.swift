// References from one URL to another (RFC 3986, section 5.2).
extension WebURL {
    /// Resolves a `Location`, and leaves its percent-encoding as it is.
    ///
    /// - Returns: nil if the result is no http or https URL, or contains a byte that no URL may contain.
    package static func resolving(_ location: String, against base: String) -> String? {
        let target = target(of: location, from: base)
        guard WebURL(target) != nil, target.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        return target
    }

    /// Returns the target of a reference, without the reference's fragment. Validates nothing.
    static func target(of location: String, from base: String) -> String {
        let reference = location.prefix { $0 != "#" }
        if let colon = reference.firstIndex(of: ":"), isScheme(reference[..<colon]) { return String(reference) }
        guard !reference.isEmpty, let url = WebURL(base) else { return base }
        let scheme = url.isSecure ? "https:" : "http:"
        let origin = "\(scheme)//\(url.authority.text)"
        if reference.hasPrefix("//") { return scheme + reference }
        if reference.hasPrefix("/") { return origin + reference }
        if reference.hasPrefix("?") { return origin + url.path + reference }
        let folder = url.path.lastIndex(of: "/").map { url.path[...$0] } ?? "/"
        let merged = withoutDots(folder + reference.prefix { $0 != "?" })
        return origin + merged + reference.drop { $0 != "?" }
    }

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
