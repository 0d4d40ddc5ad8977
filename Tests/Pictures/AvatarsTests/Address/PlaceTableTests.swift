import Testing

@testable import Avatars

struct `Places of URLs` {
    /// URLs and their places below the mirror's directory; docs/faces.md has the rules.
    static let table: [(url: String, place: String)] = [
        // Plain ones.
        ("http://example.com/u/42.jpg", "example.com/u/42.jpg"),
        ("https://example.com/u/42.jpg", "example.com/u/42.jpg"),
        ("HTTP://Example.COM/U/42.JPG", "example.com/U/42.JPG"),
        ("http://example.com/u/42.jpg!150x150", "example.com/u/42.jpg!150x150"),
        ("http://example.com/~ann/me.png", "example.com/~ann/me.png"),
        ("http://example.com/a:b@c;d=e,f+g", "example.com/a:b@c;d=e,f+g"),
        ("http://example.com/.hidden/.x", "example.com/.hidden/.x"),
        ("http://example.com/u/42.jpg#face", "example.com/u/42.jpg"),
        // Hosts.
        ("http://localhost/x", "localhost/x"),
        ("http://example.com./x", "example.com/x"),
        ("http://127.0.0.1/x", "127.0.0.1/x"),
        ("http://[::1]/x", "[::1]/x"),
        ("http://[2001:DB8:0:0:0:0:0:1]/x", "[2001:db8::1]/x"),
        ("http://[::ffff:10.0.0.1]:8080/x", "[::ffff:10.0.0.1]_8080/x"),
        ("http://my_host/x", "my_host/x"),
        ("http://a_80/x", "a%5F80/x"),
        ("http://a_b_8080/x", "a_b%5F8080/x"),
        ("http://current.jpg/x", "current%2Ejpg/x"),
        ("http://WANTED.txt", "wanted%2Etxt/%index"),
        ("http://current.jpg:81/x", "current.jpg_81/x"),
        ("http://r3---sn.example/x", "r3---sn.example/x"),
        (
            "http://\(String(repeating: "a.", count: 126))a/x",
            shortened(String(repeating: "a.", count: 126) + "a") + "/x"
        ),
        // International hosts.
        ("http://bücher.example/x", "xn--bcher-kva.example/x"),
        ("http://BÜCHER.example/x", "xn--bcher-kva.example/x"),
        ("http://xn--bcher-kva.example/x", "xn--bcher-kva.example/x"),
        ("http://XN--BCHER-KVA.example/x", "xn--bcher-kva.example/x"),
        ("http://straße.example/x", "xn--strae-oqa.example/x"),
        ("http://例え.テスト/x", "xn--r8jz45g.xn--zckzah/x"),
        ("http://例え。テスト/x", "xn--r8jz45g.xn--zckzah/x"),
        ("http://пример.рф:8080/x", "xn--e1afmkfd.xn--p1ai_8080/x"),
        // Ports.
        ("http://example.com:80/x", "example.com/x"),
        ("https://example.com:443/x", "example.com/x"),
        ("http://example.com:443/x", "example.com_443/x"),
        ("https://example.com:80/x", "example.com_80/x"),
        ("http://example.com:8080/x", "example.com_8080/x"),
        ("https://example.com:8080/x", "example.com_8080/x"),
        ("http://example.com:/x", "example.com/x"),
        ("http://example.com:0080/x", "example.com/x"),
        ("http://example.com:65535/x", "example.com_65535/x"),
        // User info.
        ("http://ann@example.com/x", "example.com/x"),
        ("http://ann:secret@example.com:81/x", "example.com_81/x"),
        ("http://ann%40home:p%2Fw@example.com/x", "example.com/x"),
        ("http://@example.com/x", "example.com/x"),
        ("http://example.com/ann@home", "example.com/ann@home"),
        // Empty parts.
        ("http://example.com", "example.com/%index"),
        ("http://example.com/", "example.com/%index"),
        ("http://example.com/u/", "example.com/u/%index"),
        ("http://example.com//", "example.com/%empty/%index"),
        ("http://example.com/a//b", "example.com/a/%empty/b"),
        ("http://example.com//a", "example.com/%empty/a"),
        ("http://example.com?", "example.com/%index%3F"),
        ("http://example.com/%69ndex", "example.com/%69ndex"),
        ("http://example.com/%index", "example.com/%25index"),
        ("http://example.com/%25index", "example.com/%25index"),
        ("http://example.com/a%file", "example.com/a%25file"),
        // Dots.
        ("http://example.com/.", "example.com/%2E"),
        ("http://example.com/..", "example.com/%2E%2E"),
        ("http://example.com/../../etc/passwd", "example.com/%2E%2E/%2E%2E/etc/passwd"),
        ("http://example.com/a/./b", "example.com/a/%2E/b"),
        ("http://example.com/%2e%2E/a", "example.com/%2E%2E/a"),
        ("http://example.com/.%2e/a", "example.com/%2E%2E/a"),
        ("http://example.com/%2e", "example.com/%2E"),
        ("http://example.com/...", "example.com/..."),
        ("http://example.com/%2e..", "example.com/%2E.."),
        ("http://example.com/..a", "example.com/..a"),
        ("http://example.com/%252e", "example.com/%252e"),
        ("http://example.com/..?x", "example.com/%2E%2E%3Fx"),
        ("http://example.com/..%2F..%2Fetc", "example.com/..%2F..%2Fetc"),
        ("http://example.com/..\\..\\x", "example.com/..%5C..%5Cx"),
        // Encodings.
        ("http://example.com/a%2fb", "example.com/a%2Fb"),
        ("http://example.com/a%2Fb", "example.com/a%2Fb"),
        ("http://example.com/%7eann", "example.com/%7Eann"),
        ("http://example.com/%41", "example.com/%41"),
        ("http://example.com/100%", "example.com/100%25"),
        ("http://example.com/%zz%4", "example.com/%25zz%254"),
        ("http://example.com/%00", "example.com/%00"),
        ("http://example.com/two words", "example.com/two%20words"),
        ("http://example.com/two%20words", "example.com/two%20words"),
        ("http://example.com/über", "example.com/%C3%BCber"),
        ("http://example.com/%c3%bcber", "example.com/%C3%BCber"),
        ("http://example.com/🙂.png", "example.com/%F0%9F%99%82.png"),
        ("http://example.com/\"<>^`{|}", "example.com/%22%3C%3E%5E%60%7B%7C%7D"),
        ("http://example.com/[1]'(2)*$&", "example.com/[1]'(2)*$&"),
        // Queries.
        ("http://example.com/a?b=c", "example.com/a%3Fb=c"),
        ("http://example.com/a?", "example.com/a%3F"),
        ("http://example.com/?b", "example.com/%index%3Fb"),
        ("http://example.com?b", "example.com/%index%3Fb"),
        ("http://example.com/a?b?c", "example.com/a%3Fb?c"),
        ("http://example.com/a%3fb", "example.com/a%253Fb"),
        ("http://example.com/a%3Fb?c", "example.com/a%253Fb%3Fc"),
        ("http://example.com/a%253Fb", "example.com/a%25253Fb"),
        ("http://example.com/a%253fb", "example.com/a%253fb"),
        ("http://example.com/a%3Fb/c", "example.com/a%3Fb/c"),
        ("http://example.com/a?b%3Fc", "example.com/a%3Fb%3Fc"),
        ("http://example.com/a?b/../c", "example.com/a%3Fb%2F..%2Fc"),
        ("http://example.com/a?b%2fc", "example.com/a%3Fb%252Fc"),
        ("http://example.com/a?b%252Fc", "example.com/a%3Fb%25252Fc"),
        ("http://example.com/a?b c", "example.com/a%3Fb%20c"),
        ("http://example.com?b@c:d", "example.com/%index%3Fb@c:d"),
        // File and directory of one name both keep their plain places; the disk store resolves the clash.
        ("http://example.com/a", "example.com/a"),
        ("http://example.com/a/b", "example.com/a/b"),
        // Over-long parts.
        ("http://example.com/\(long(200))", "example.com/\(long(200))"),
        ("http://example.com/\(long(201))", "example.com/" + shortened(long(201))),
        ("http://example.com/\(long(300))/b", "example.com/" + shortened(long(300)) + "/b"),
        ("http://example.com/a?\(long(300))", "example.com/" + shortened("a%3F" + long(300))),
        (
            "http://example.com/" + long(190) + "%2F" + long(20),
            "example.com/" + long(190) + "~" + hash(long(190) + "%2F" + long(20))
        ),
        // A long part that looks shortened is shortened too, or two URLs would share a place.
        ("http://example.com/\(long(191))~0123abcd", "example.com/" + shortened(long(191) + "~0123abcd")),
        ("http://example.com/\(long(100))~0123abcd", "example.com/\(long(100))~0123abcd"),
    ]

    @Test(arguments: table)
    func `each URL has its place`(url: String, place: String) throws {
        #expect(try AvatarAddress(url).place.joined(separator: "/") == place)
    }

    @Test(arguments: [
        ("HTTPS://ann:pw@Example.com:443/a b/%7e/../é?q=%2f#top", "https://example.com/a%20b/%7E/../%C3%A9?q=%2F"),
        ("http://Bücher.example:8080", "http://xn--bcher-kva.example:8080/"),
        ("http://h/a/%2E%2e/b", "http://h/a/../b"), ("http://h?x", "http://h/?x"), ("http://h/?", "http://h/?"),
    ])
    func `URLs are requested in their canonical spelling`(url: String, canonical: String) throws {
        let address = try AvatarAddress(url)
        #expect(address.url == canonical)
        #expect(try AvatarAddress(canonical) == address)
        #expect(try AvatarAddress(canonical).url == canonical)
    }

    @Test(arguments: [
        "", "x", "/etc/passwd", "example.com/x", "ftp://example.com/x", "file:///etc/passwd",
        "data:image/png;base64,AA",
        "http:/example.com", "http:example.com", "http://", "http:///x", "https://?x", "http://:80/x", "http://ann@/x",
        " http://example.com/x", "http://exa mple.com/x", "http://example.com/a\nb", "http://example.com/\u{0}",
        "http://example.com/\u{7F}", "http://.example.com/x", "http://example..com/x", "http://example.com../x",
        "http://./x", "http://../x", "http://a\\b/x", "http://a%2eb/x", "http://a,b/x", "http://a~b/x",
        "http://example.com:0/x", "http://example.com:65536/x", "http://example.com:8a/x", "http://example.com:-1/x",
        "http://::1/x", "http://[::1/x", "http://[::1]x/x", "http://[fe80::1%25eth0]/x", "http://[nonsense]/x",
        "http://1/x", "http://127.1/x", "http://0x7f.0.0.1/x", "http://127.0.0.256/x", "http://127.0.0.01/x",
        "http://a@b@c/x", "http://\(String(repeating: "a", count: 64)).example/x",
        "http://\(String(repeating: "a.", count: 127))a/x", "http://a\u{0308}.example/x", "http://❤.example/x",
        "http://ｅｘ.example/x", "http://a\u{200D}b.example/x",
        "http://example.com/\(String(repeating: "a", count: 8192))",
        "http://example.com/\(String(repeating: "ü", count: 2000))",
        "http://example.com/\(String(repeating: "a/", count: 1600))",
    ])
    func `what is no URL of a picture is refused in one line`(text: String) throws {
        let error = try #require(throws: AvatarAddressError.self) { try AvatarAddress(text) }
        #expect(!error.description.contains("\n"))
        #expect(error.description.utf8.count < 700)
    }

    @Test func `a refusal does not tell passwords`() throws {
        let error = try #require(throws: AvatarAddressError.self) {
            try AvatarAddress("http://ann:secret@example.com:0/x")
        }
        #expect(
            error.description
                == "\"http://example.com:0/x\" can't be mirrored: its port is not a number from 1 to 65535 (an IPv6 address needs brackets)"
        )
    }

    private static func long(_ count: Int) -> String { String(repeating: "x", count: count) }

    private static func shortened(_ part: String) -> String { String(part.prefix(191)) + "~" + hash(part) }

    /// The first 8 digits of `printf %s PART | md5sum`, copied from the output of that program.
    private static func hash(_ part: String) -> String {
        let known = [
            long(201): "3ea01af1",
            long(300): "8a4876ea",
            "a%3F" + long(300): "2ad732c1",
            long(190) + "%2F" + long(20): "2a026621",
            long(191) + "~0123abcd": "c6be1cea",
            String(repeating: "a.", count: 126) + "a": "14f61d9d",
        ]
        return known[part] ?? "unknown"
    }
}
