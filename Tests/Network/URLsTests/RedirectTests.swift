import Testing

@testable import URLs

struct RedirectTests {
    @Test(arguments: [
        ("http://h/a/b?q", "http://x/y", "http://x/y"),
        ("http://h/a/b?q", "HTTPS://X:444/y?z#f", "https://x:444/y?z"),
        ("https://h/a/b", "//x/y", "https://x/y"),
        ("http://h:81/a/b?q", "/c/../d", "http://h:81/c/../d"),
        ("http://h/a/b?q", "c?r", "http://h/a/c?r"),
        ("http://h/a/b?q", "?r", "http://h/a/b?r"),
        ("http://h/a/b?q", "", "http://h/a/b?q"),
        ("http://h/a/b?q", "#f", "http://h/a/b?q"),
        ("http://h/a/b/c", "../d", "http://h/a/d"),
        ("http://h/a/b/c", "./d/.", "http://h/a/b/d/"),
        ("http://h/a/b", "../../../../d", "http://h/d"),
        ("http://h/a/b", "..", "http://h/"),
        ("http://h", "c", "http://h/c"),
        ("http://h/a", "http://user:secret@x/y", "http://x/y"),
        ("http://[::1]:8/a", "b", "http://[::1]:8/b"),
    ])
    func `a Location means what RFC 3986 says`(base: String, location: String, expected: String) throws {
        #expect(try CanonicalURL(base).following(location)?.text.withoutBareSlash == expected.withoutBareSlash)
    }

    @Test(arguments: ["ftp://x/y", "file:///etc/passwd", "javascript:alert(1)", "http://", "http://a b/", "gopher:x"])
    func `a Location that is no http or https URL leads nowhere`(location: String) throws {
        #expect(try CanonicalURL("http://h/a").following(location) == nil)
    }
}

extension String {
    /// Drops a trailing slash, because `http://h` and `http://h/` are the same URL.
    fileprivate var withoutBareSlash: String { hasSuffix("/") ? String(dropLast()) : self }
}
