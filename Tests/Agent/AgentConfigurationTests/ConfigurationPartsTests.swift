import Text
import Testing

@testable import AgentConfiguration

@Suite struct ConfigurationPartsTests {
    @Test(arguments: [
        ("*", "", true), ("*", "abc", true), ("?", "", false), ("?", "a", true), ("a*c", "abbc", true),
        ("a*c", "abbd", false), ("*.tmp", "x.tmp", true), ("*.tmp", "x.tmp2", false), (".*", ".hidden", true),
        (".*", "seen", false), ("*~", "a~", true), ("[ab]c", "bc", true), ("[ab]c", "cc", false),
        ("[!ab]c", "cc", true),
        ("[^ab]c", "ac", false), ("[a-cx]", "b", true), ("[a-cx]", "d", false), ("[]a]", "]", true),
        ("[a-]", "-", true),
        ("\\*", "*", true), ("\\*", "a", false), ("a*b*c", "aXbYbZc", true), ("**a", "ba", true), ("Ä*", "Äb", true),
        ("*a*a*a*a*a*a*a*b", String(repeating: "a", count: 255), false),
    ])
    func `a pattern matches a name as in a shell`(pattern: String, name: String, matches: Bool) throws {
        #expect(try #require(GlobPattern(pattern)).matches(name: Array(name.utf8)[...]) == matches)
    }

    @Test func `a pattern matches names that are not UTF-8`() throws {
        #expect(try #require(GlobPattern("a?*")).matches(name: [0x61, 0xFF, 0xFE]))
    }

    @Test(arguments: ["", "a/b", "[a", "[]", "[b-a]", "a\\", "[!]", "a\0"])
    func `what is not a pattern is refused`(pattern: String) {
        #expect(GlobPattern(pattern) == nil)
    }

    @Test(arguments: [("a/b.tmp/c", true), ("a.tmp", true), ("a/b/c", false), ("", false)])
    func `a pattern is matched against each part of a path`(path: String, matches: Bool) throws {
        #expect(try #require(GlobPattern("*.tmp")).matchesAnyComponent(of: Array(path.utf8)) == matches)
    }

    @Test(
        arguments: [
            ("250ms", Duration.milliseconds(250)), ("30s", .seconds(30)), ("2m", .seconds(120)),
            ("24h", .seconds(86_400)),
            ("30d", .seconds(2_592_000)), ("0", .zero), ("0s", .zero), ("36500d", Units.longest), ("", nil), ("1", nil),
            ("s", nil), ("1.5s", nil), ("-1s", nil), ("+1s", nil), ("1 s", nil), ("1S", nil), ("1w", nil), ("1sx", nil),
            ("36501d", nil), ("99999999999999999d", nil), ("18446744073709551615ms", nil),
            ("184467440737095516160s", nil),
        ] as [(String, Duration?)])
    func `durations are a number and a unit`(text: String, duration: Duration?) {
        #expect(Units.duration(text) == duration)
    }

    @Test(
        arguments: [
            ("512KiB", 524_288), ("64MiB", 64 << 20), ("10GiB", 10 << 30), ("1TiB", 1 << 40), ("1KB", 1000),
            ("2MB", 2_000_000),
            ("3GB", 3_000_000_000), ("100", 100), ("100B", 100), ("0", 0), ("9223372036854775807", 1 << 63 - 1),
            ("", nil),
            ("KiB", nil), ("1kib", nil), ("1 KiB", nil), ("-1", nil), ("1.5GiB", nil), ("9223372036854775808", nil),
            ("9999999999GiB", nil), ("1K", nil),
        ] as [(String, UInt64?)])
    func `sizes are a number and a unit`(text: String, size: UInt64?) {
        #expect(Units.size(text) == size)
    }

    @Test(arguments: ["250ms", "30s", "90s", "2m", "1d", "36h", "0", "1001ms"])
    func `durations are spelt as they are read`(text: String) {
        #expect(Units.duration(text).map { Units.spell($0) } == text)
    }

    @Test(arguments: ["512KiB", "64MiB", "1GiB", "0", "1000", "1025KiB"])
    func `sizes are spelt as they are read`(text: String) {
        #expect(Units.size(text).map { Units.spell($0) } == text)
    }
}
