import Testing

@testable import URLs

struct WebURLTests {
    private static let table: [(url: String, parts: [String?])] = [
        ("http://h", ["http", nil, "h", nil, "", nil, nil]),
        ("HtTpS://H:1/a?b#c", ["https", nil, "H", "1", "/a", "b", "c"]),
        ("http://u:p@h:81", ["http", "u:p", "h", "81", "", nil, nil]),
        ("http://a@b@h", ["http", "a@b", "h", nil, "", nil, nil]),
        ("http://h:", ["http", nil, "h", "", "", nil, nil]),
        ("http://[::1]:8/x", ["http", nil, "[::1]", "8", "/x", nil, nil]),
        ("http://[::1", ["http", nil, "[", ":1", "", nil, nil]),
        ("http://::1", ["http", nil, "", ":1", "", nil, nil]),
        ("http:///x", ["http", nil, "", nil, "/x", nil, nil]),
        ("http://h?a/b@c:d?e#f?g#h", ["http", nil, "h", nil, "", "a/b@c:d?e", "f?g#h"]),
        ("http://h/a@b:c//d", ["http", nil, "h", nil, "/a@b:c//d", nil, nil]),
        ("http://h#?/@", ["http", nil, "h", nil, "", nil, "?/@"]),
        ("http://h\u{301}/\u{301}x?\u{301}", ["http", nil, "h\u{301}", nil, "/\u{301}x", "\u{301}", nil]),
    ]

    @Test(arguments: table)
    func `a URL is split as it is written`(url: String, parts: [String?]) throws {
        let found = try #require(WebURL(url))
        let authority = found.authority
        let split: [String?] = [
            found.isSecure ? "https" : "http", authority.userInfo.map(String.init), String(authority.host),
            authority.port.map(String.init), String(found.path), found.query.map(String.init),
            found.fragment.map(String.init),
        ]
        #expect(split == parts)
    }

    @Test(arguments: ["", "h", "http", "http:", "http:/h", "http:h", "ftp://h", "//h", " http://h", "https//h", "://h"])
    func `only absolute http and https URLs are split`(text: String) {
        #expect(WebURL(text) == nil)
    }

    @Test(arguments: [
        ("h:0", 0), ("h:80", 80), ("h:0080", 80), ("h:65535", 65535), ("h:65536", nil), ("h:-1", nil), ("h:+1", nil),
        ("h:", nil), ("h", nil), ("h:8a", nil), ("[::1]:8", 8), ("h:٣", nil),
    ])
    func `a port is a decimal number`(authority: String, port: UInt16?) {
        #expect(Authority(authority[...]).portNumber == port)
    }

    @Test(arguments: [
        ("http://h/a?token=1#x", "http://h/a"), ("http://h#x?y", "http://h"), ("a", "a"), ("a?\u{301}b", "a"),
    ])
    func `query and fragment can be left out of a message`(url: String, shown: String) {
        #expect(WebURL.withoutQuery(url) == shown)
    }

    @Test(arguments: [
        ("http://u:p@h/a@b", "http://h/a@b"), ("ftp://u:p@h", "ftp://h"), ("u:p@h", "h"), ("http://h/@", "http://h/@"),
        ("http://u@p@h", "http://h"), ("http://h", "http://h"),
    ])
    func `user info can be left out of a message`(url: String, shown: String) {
        #expect(WebURL.withoutUserInfo(url) == shown)
    }
}

struct LoopbackTests {
    @Test(arguments: [
        "http://localhost", "http://LocalHost:8787/x", "https://127.0.0.1:1", "http://127.255.0.9/",
        "http://[::1]:8787", "http://[0:0:0:0:0:0:0:1]/", "http://localhost?x",
    ])
    func `this machine is known by its names`(url: String) throws {
        #expect(try #require(WebURL(url)).isLoopback)
    }

    @Test(arguments: [
        "http://localhost.example", "http://localhost-2", "http://127.0.0.1.example", "http://127.1",
        "http://127.0.0.256", "http://128.0.0.1", "http://[::2]", "http://[fe80::1]", "http://a@localhost",
        "http://example/localhost", "http://0.0.0.0", "http://127.0.0.01", "http://127.0.0.1\0.example", "http://",
    ])
    func `nothing else is taken for it`(url: String) throws {
        #expect(try !#require(WebURL(url)).isLoopback)
    }

    @Test(arguments: [
        ("localhost", true), ("LOCALHOST", true), ("127.0.0.1", true), ("::1", true), ("0::0001", true), ("::2", false),
        ("127.1", false), ("128.0.0.1", false), ("", false), ("[::1]", true), ("[::1", false), ("[\u{301}::1]", false),
        ("[127.0.0.1]", false), ("[localhost]", false),
    ])
    func `a host by itself is judged as it is in a URL`(host: String, isLoopback: Bool) {
        #expect(HostName.isLoopback(host[...]) == isLoopback)
    }
}
