import Intake
import Reports
import Testing
@testable import UploadCore

@testable import Sidecars

@Suite("Sidecars that must be read to find their files")
struct SidecarListingTests {
    private func unexplained(_ names: String...) -> [String] {
        let bytes = names.map { Array($0.utf8) }
        return SidecarListing(sidecars: bytes, files: bytes).unexplained.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("none of a hundred thousand sidecars beside their files")
    func many() {
        let files = (0..<100_000).map { Array("\($0).jpg".utf8) }
        let names = files + files.map { SidecarName.name(for: $0) }
        let listing = SidecarListing(sidecars: names, files: names)
        #expect(listing.unexplained.isEmpty)
        #expect(listing.bare.isEmpty)
    }

    @Test("files without a sidecar")
    func bare() {
        let bare = { (names: [String]) in
            let bytes = names.map { Array($0.utf8) }
            let bare = SidecarListing(sidecars: bytes, files: bytes).bare
            return Set(bare.map { String(decoding: $0, as: UTF8.self) })
        }
        #expect(bare(["a.jpg", "b.jpg", "b.jpg.outbox.json"]) == ["a.jpg"])
        // A stray does not make up for a missing sidecar.
        #expect(bare(["a.jpg", "b.jpg.outbox.json", "c.jpg", "c.jpg.outbox.json"]) == ["a.jpg"])
    }

    @Test("sidecars of missing files")
    func gone() {
        #expect(unexplained("a.jpg", "a.jpg.outbox.json", "b.jpg.outbox.json") == ["b.jpg.outbox.json"])
        #expect(unexplained("b.jpg.outbox.json", "b.jpg.outbox.json.outbox.json").count == 2)
        #expect(unexplained(".outbox.json", "a.jpg").isEmpty)
    }

    @Test("sidecars that gave way to a foreign file")
    func copies() {
        #expect(unexplained("a.jpg", "a.jpg.outbox.json", "a.jpg (2).outbox.json") == ["a.jpg (2).outbox.json"])
    }

    @Test("no sidecars of long names whose files exist")
    func long() {
        let name = String(repeating: "x", count: 250)
        let sidecar = String(decoding: SidecarName.name(for: Array(name.utf8)), as: UTF8.self)
        #expect(unexplained(name, sidecar).isEmpty)
        #expect(unexplained(sidecar) == [sidecar])
    }

    @Test("no sidecar of a source whose description exists")
    func source() {
        #expect(unexplained("source.toml", "source.outbox.json").isEmpty)
        #expect(unexplained("source.outbox.json") == ["source.outbox.json"])
    }

    @Test("temporary files are listed separately")
    func temporary() {
        let names = [".outbox-0123abcd.tmp", "a.tmp", ".outbox-0123abcd.tmp.outbox.json"].map { Array($0.utf8) }
        #expect(SidecarListing(sidecars: names, files: names).temporaries == [names[0]])
    }
}

@Suite("The path in a sidecar")
struct SidecarWordTests {
    @Test("survives writing and reading", arguments: ["a.jpg", "trip/100%.jpg", "trip/\u{7}\"\\\n.jpg"])
    func path(_ name: String) throws {
        let path = try #require(RelativePath(name))
        try check(path)
    }

    @Test("survives if the name is not UTF-8")
    func bytes() throws { try check(try #require(RelativePath([0x61, 0xFF, 0x25]))) }

    private func check(_ path: RelativePath) throws {
        let time = WallTime(milliseconds: 0)
        var report = FileReport(
            path: path, state: .cancelled, remoteProtocol: "filesection", acceptedAt: time, updatedAt: time)
        report.size = 7
        report.error = FileError(code: "cancelled", message: "cancelled by the user", retryable: false)
        let word = try #require(SidecarWord(report.sidecarText()))
        #expect(word.path == path && word.size == 7 && word.fileState == .cancelled && word.isCancelledByUser)
        report.error = .removed
        #expect(SidecarWord(report.sidecarText())?.isCancelledByUser == false)
    }

    @Test(
        "is nil for foreign text",
        arguments: ["", "{}", "[]", "{\"version\": 1, \"path\": \"/a\", \"state\": \"done\"}"])
    func foreign(_ text: String) { #expect(SidecarWord(Array(text.utf8)) == nil) }
}
