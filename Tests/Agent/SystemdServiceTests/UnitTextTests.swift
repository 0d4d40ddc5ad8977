import Testing

@testable import SystemdService

@Suite("Escaping in unit files")
struct UnitTextTests {
    @Test(
        "paths in lists",
        arguments: [
            ("/srv/outbox", "-/srv/outbox"), ("/a b", #""-/a b""#), ("/100%", "-/100%%"), ("/a\"b", #""-/a\"b""#),
            ("/a\\b", #""-/a\\b""#), ("/a'b", #""-/a'b""#), ("/$HOME", "-/$HOME"), ("/ü", #""-/ü""#),
            ("/a;b", #""-/a;b""#), ("/#", #""-/#""#),
        ])
    func paths(path: String, written: String) throws {
        #expect(try UnitText.path(path, prefix: "-") == written)
    }

    @Test("a path with a control character is refused", arguments: ["/a\nb", "/a\tb", "/a\u{7F}"])
    func controlCharacters(path: String) {
        #expect(throws: ServiceError.self) { try UnitText.path(path) }
    }

    @Test(
        "arguments of commands",
        arguments: [
            ("/srv/a.toml", "/srv/a.toml"), ("/a b", #""/a b""#), ("/100%", "/100%%"), ("/$HOME", "/$$HOME"),
            ("/a\"b", #""/a\"b""#), ("/a\\x41", #""/a\\x41""#), ("/a\nb", #""/a\x0ab""#), ("/ü", #""/ü""#),
            ("", "\"\""),
            (";", "\";\""),
        ])
    func arguments(argument: String, written: String) {
        #expect(UnitText.argument(Array(argument.utf8)) == written)
    }

    @Test("bytes that are not UTF-8 are escaped one by one")
    func odd() throws {
        #expect(UnitText.argument([0x2F, 0xFF, 0xC3]) == #""/\xff\xc3""#)
        #expect(try UnitText.program([0x2F, 0xFF]) == #""/\xff""#)
    }

    @Test(
        "a program keeps its dollar signs", arguments: [("/opt/$x/outbox", "/opt/$x/outbox"), ("/a b%", #""/a b%%""#)])
    func program(path: String, written: String) throws {
        #expect(try UnitText.program(Array(path.utf8)) == written)
    }

    @Test("a program path that systemd would not start is refused", arguments: ["/a\"b", "/a'b", "/a\\b", "/a\nb"])
    func refusedProgram(path: String) {
        #expect(throws: ServiceError.self) { try UnitText.program(Array(path.utf8)) }
    }

    @Test("prose stays on one line")
    func prose() {
        #expect(UnitText.prose("100% of\nit") == #"100%% of\nit"#)
    }
}
