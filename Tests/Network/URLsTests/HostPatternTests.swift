import Testing

@testable import URLs

struct HostPatternTests {
    @Test(
        arguments: [
            ("img.example.org", "img.example.org"), ("IMG.Example.org.", "img.example.org"), ("my_host", "my_host"),
            ("bücher.example", "xn--bcher-kva.example"), ("*.Example.org", "*.example.org"),
            ("*.bücher.example", "*.xn--bcher-kva.example"), ("192.0.2.1", "192.0.2.1"),
            ("2001:db8::1", "[2001:db8::1]"),
            ("2001:DB8:0:0::1", "[2001:db8::1]"), ("[2001:DB8::1]", "[2001:db8::1]"), ("::1", "[::1]"),
            ("::ffff:192.0.2.1", "[::ffff:192.0.2.1]"),
        ] as [(String, String)])
    func `a pattern has one canonical form`(text: String, canonical: String) throws {
        let pattern = try HostPattern(text)
        #expect(pattern.text == canonical)
        #expect(try HostPattern(canonical) == pattern)
    }

    @Test(arguments: [
        "", "*", "*.", "*.192.0.2.1", "*.::1", "*.[::1]", "a.*.example.org", "*.*.example.org", "http://a", "a/b",
        "a b",
        "a:80", "127.1", "1.2.3", "[192.0.2.1]", "[::1", "::1]", "fe80::1%eth0", "a..b", ".a",
        String(repeating: "a.", count: 127) + "a",
    ])
    func `a host that no URL can have is no pattern`(text: String) {
        #expect(throws: URLRefusal.self) { try HostPattern(text) }
    }

    @Test(
        arguments: [
            ("img.example.org", "https://IMG.example.org/a.png", true),
            ("img.example.org", "https://example.org/", false),
            ("example.org", "https://img.example.org/", false), ("*.example.org", "https://img.example.org./", true),
            ("*.example.org", "http://a.b.example.org:8080/", true), ("*.example.org", "https://example.org/", false),
            ("*.example.org", "https://notexample.org/", false),
            ("bücher.example", "https://xn--bcher-kva.example/", true),
            ("192.0.2.1", "http://192.0.2.1/", true), ("192.0.2.1", "http://[::ffff:192.0.2.1]/", false),
            ("2001:db8::1", "http://[2001:DB8:0::1]:8080/a", true), ("[2001:db8:0::1]", "http://[2001:db8::1]/", true),
            ("2001:db8::1", "http://[2001:db8::2]/", false), ("::1", "http://localhost/", false),
        ] as [(String, String, Bool)])
    func `a pattern matches each spelling of its hosts, and no other host`(
        pattern: String, url: String, matches: Bool
    ) throws {
        #expect(try HostPattern(pattern).matches(CanonicalURL(url)) == matches)
    }
}
