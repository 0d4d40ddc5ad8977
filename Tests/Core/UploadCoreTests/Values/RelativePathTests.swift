import Testing
import UploadCore

@Suite("A path in the outbox")
struct RelativePathTests {
    private func path(_ text: String) throws -> RelativePath { try #require(RelativePath(text)) }

    @Test("takes every legal name", arguments: ["a", "trip/beach.jpg", "...", " ", "-", "a\nb", "%", "ünï", "..a/b.."])
    func legal(text: String) {
        #expect(RelativePath(text)?.bytes == Array(text.utf8))
    }

    @Test(
        "refuses paths that lead elsewhere", arguments: ["/a", "a/", "a//b", ".", "..", "a/../b", "a/.", "a\0b", "/"])
    func illegal(text: String) {
        #expect(RelativePath(text) == nil)
    }

    @Test("shows its last part, also one that begins with a combining mark")
    func shownName() throws {
        #expect(try path("trip/beach.jpg").shownName == "beach.jpg" && path("a").shownName == "a")
        #expect(try path("d/\u{301}x.jpg").shownName == "\u{301}x.jpg")
    }

    @Test("stands for the outbox if empty")
    func root() {
        #expect(RelativePath("") == .root)
        #expect(RelativePath.root.name.isEmpty && RelativePath.root.parts.isEmpty && RelativePath.root.parent == .root)
    }

    @Test("is shown unchanged if it is UTF-8, including percent signs")
    func shownAsIs() throws {
        #expect(try path("100% ünï").description == "100% ünï")
        #expect(try path("100% ünï").isUTF8)
    }

    @Test(
        "is shown with odd bytes and percent signs encoded if it is not UTF-8",
        arguments: [
            ([0x61, 0xFF, 0x62], "a%FFb"), ([0xFF, 0x25], "%FF%25"), ([0xC3, 0xBC, 0x80], "ü%80"),
            ([0x0A, 0xC3], "\n%C3"), ([0xE2, 0x82, 0x2F, 0x61], "%E2%82/a"), ([0xF0, 0x9F, 0x98, 0x80, 0x9F], "😀%9F"),
            ([0xED, 0xA0, 0x80], "%ED%A0%80"), ([0xC0, 0xAF], "%C0%AF"),
        ] as [([UInt8], String)])
    func oddBytes(bytes: [UInt8], shown: String) throws {
        let path = try #require(RelativePath(bytes))
        #expect(path.description == shown)
        #expect(!path.isUTF8)
    }

    @Test("differs from similar paths when shown")
    func noConfusion() throws {
        let odd = try #require(RelativePath([0xFF, 0x25, 0x46, 0x46]))
        let other = try #require(RelativePath([0xFF, 0xFF]))
        #expect(odd.description == "%FF%25FF" && other.description == "%FF%FF")
    }

    @Test("has a name, a parent and parts")
    func parts() throws {
        let path = try path("a/b/c.jpg")
        #expect(path.name.elementsEqual("c.jpg".utf8))
        #expect(path.parent.description == "a/b")
        #expect(path.parts.map { String(decoding: $0, as: UTF8.self) } == ["a", "b", "c.jpg"])
        #expect(path.parent.parent.parent == .root)
        #expect(RelativePath.root.appending("a".utf8).appending("b".utf8).description == "a/b")
    }

    @Test(
        "lies within its directories only",
        arguments: [("a/b", "a", true), ("a", "a", true), ("ab", "a", false), ("a", "a/b", false), ("a", "", true)])
    func within(inner: String, outer: String, isWithin: Bool) throws {
        #expect(try path(inner).isWithin(path(outer)) == isWithin)
    }

    @Test(
        "changes with a renamed directory",
        arguments: [
            ("a/b", "a", "x/y", "x/y/b"), ("a", "a", "z", "z"), ("ab", "a", "z", nil), ("a/b", "", "top", "top/a/b"),
            ("a/b", "a", "", "b"),
        ] as [(String, String, String, String?)])
    func moved(start: String, old: String, new: String, end: String?) throws {
        #expect(try path(start).moved(from: path(old), to: path(new))?.description == end)
    }

    @Test("is ordered by its bytes")
    func order() throws {
        let paths = try [path("b"), path("a/z"), path("a"), #require(RelativePath([0xFF]))]
        #expect(paths.sorted().map(\.bytes.first) == [0x61, 0x61, 0x62, 0xFF])
    }
}
