import AgentTestSupport
import Foundation
import LinuxSystem
import TestSupport
import Testing
import UploadCore

@testable import Reports
@testable import Sidecars

@Suite("Sidecar store, sources")
struct SourceSidecarStoreTests {
    private let place: TemporaryDirectory
    private let store: SidecarStore
    private let directory: RelativePath
    /// A file named `source`: its sidecar would have the name of the post's sidecar.
    private let file: RelativePath

    init() throws {
        place = try TemporaryDirectory()
        store = SidecarStore(beside: PinnedDirectory(path: place.path))
        directory = try #require(RelativePath("trip"))
        file = try #require(RelativePath("trip/source"))
        try FileManager.default.createDirectory(atPath: place.path("trip"), withIntermediateDirectories: false)
    }

    @Test("writes the sidecar into the source's directory")
    func writes() throws {
        #expect(try writeSource(.draft) == "source.outbox.json")
        #expect(try names() == ["source.outbox.json"])
        #expect(try writeSource(.file(.done)) == "source.outbox.json")
        #expect(try read("source.outbox.json").contains("\"done\""))
    }

    @Test("writes the sidecar into the mirror tree, and creates the directory there")
    func mirror() throws {
        let mirror = SidecarStore(mirror: place.path("mirror"))
        _ = try mirror.write(SourceReport.seen(directory).sidecarText(), for: .source(directory), known: nil)
        let names = try FileManager.default.contentsOfDirectory(atPath: place.path("mirror/trip"))
        #expect(names == ["source.outbox.json"])
    }

    @Test("takes the name from the sidecar of a file called source, which gets the next free name")
    func takesOver() throws {
        #expect(try writeFile(.settling) == "source.outbox.json")
        #expect(try writeSource(.draft) == "source.outbox.json")
        #expect(SourceReport.isSidecar(try bytes("source.outbox.json")))
        #expect(FileReport.isSidecar(try bytes("source (2).outbox.json"), of: file))
        #expect(try writeFile(.done) == "source (2).outbox.json")
        #expect(try read("source (2).outbox.json").contains("\"done\""))
        #expect(try writeSource(.file(.done)) == "source.outbox.json")
        #expect(try names() == ["source (2).outbox.json", "source.outbox.json"])
    }

    @Test("skips names of foreign files when a sidecar gives way")
    func givesWayBesideForeign() throws {
        _ = try writeFile(.settling)
        try write("source (2).outbox.json", "mine")
        _ = try writeSource(.draft)
        #expect(try read("source (2).outbox.json") == "mine")
        #expect(FileReport.isSidecar(try bytes("source (3).outbox.json"), of: file))
    }

    @Test("takes over only the usual name: if a foreign file has it, the file called source keeps its copy's name")
    func bothBesideForeign() throws {
        try write("source.outbox.json", "mine")
        #expect(try writeFile(.settling) == "source (2).outbox.json")
        #expect(try writeSource(.draft) == "source (3).outbox.json")
        #expect(FileReport.isSidecar(try bytes("source (2).outbox.json"), of: file))
    }

    @Test("never lets the sidecar of a file called source replace the source's")
    func fileComesLater() throws {
        _ = try writeSource(.draft)
        #expect(try writeFile(.settling) == "source (2).outbox.json")
        #expect(SourceReport.isSidecar(try bytes("source.outbox.json")))
    }

    @Test("keeps one sidecar of a file called source after the source's sidecar is gone, and removes it with the file")
    func sourceGoes() throws {
        _ = try writeSource(.draft)
        _ = try writeFile(.settling)
        #expect(store.remove(for: .source(directory), known: nil))
        #expect(store.sidecar(of: .file(file), holds: ["\"settling\""]))
        #expect(try writeFile(.done) == "source (2).outbox.json")
        #expect(store.remove(for: .file(file), known: nil))
        #expect(try names().isEmpty)
    }

    @Test("leaves a foreign file of the name alone")
    func foreign() throws {
        try write("source.outbox.json", "mine")
        #expect(try writeSource(.draft) == "source (2).outbox.json")
        #expect(try writeSource(.file(.done)) == "source (2).outbox.json")
        #expect(try read("source.outbox.json") == "mine")
        #expect(store.remove(for: .source(directory), known: nil))
        #expect(try names() == ["source.outbox.json"])
    }

    @Test("takes over a sidecar that moved with a renamed directory")
    func renamed() throws {
        _ = try writeSource(.draft)
        try FileManager.default.moveItem(atPath: place.path("trip"), toPath: place.path("travel"))
        let travel = try #require(RelativePath("travel"))
        _ = try store.write(SourceReport.seen(travel).sidecarText(), for: .source(travel), known: nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path("travel")) == ["source.outbox.json"])
    }

    @Test("recognises and replaces a sidecar of any size")
    func large() throws {
        var report = SourceReport.seen(directory, .file(.uploading))
        report.files = try (0..<50).map { number in
            .seen(try #require(RelativePath("trip/\(number)" + String(repeating: "\u{1}x/", count: 1000) + "a.jpg")))
        }
        #expect(report.sidecarText().count > 1 << 17)
        _ = try store.write(report.sidecarText(), for: .source(directory), known: nil)
        report.state = .file(.done)
        report.finishedAt = report.updatedAt
        #expect(!store.sidecar(of: .source(directory), holds: report.outcome))
        _ = try store.write(report.sidecarText(), for: .source(directory), known: nil)
        #expect(store.sidecar(of: .source(directory), holds: report.outcome))
        #expect(try names() == ["source.outbox.json"])
    }

    @Test("does not mistake other text for the sidecar of a source")
    func others() throws {
        let own = SourceReport.seen(directory).sidecarText()
        #expect(SourceReport.isSidecar(own))
        #expect(!SourceReport.isSidecar(FileReport.seen(file).sidecarText()))
        for text in ["", "{}", "{\n  \"version\": 1,\n  \"id\": \"short\",\n  \"path\": \"trip\""] {
            #expect(!SourceReport.isSidecar(Array(text.utf8)))
        }
        for length in 0..<60 { #expect(!SourceReport.isSidecar(Array(own.prefix(length)))) }
    }

    private func writeSource(_ state: SourceState) throws -> String {
        let text = SourceReport.seen(directory, state).sidecarText()
        return String(decoding: try store.write(text, for: .source(directory), known: nil), as: UTF8.self)
    }

    private func writeFile(_ state: FileState) throws -> String {
        let text = FileReport.seen(file, state).sidecarText()
        return String(decoding: try store.write(text, for: .file(file), known: nil), as: UTF8.self)
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: place.path("trip")).sorted()
    }

    private func bytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: place.path("trip/\(name)"))))
    }

    private func read(_ name: String) throws -> String { String(decoding: try bytes(name), as: UTF8.self) }

    private func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: place.path("trip/\(name)")))
    }
}
