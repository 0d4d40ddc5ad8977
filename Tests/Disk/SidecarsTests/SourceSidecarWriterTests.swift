import AgentTestSupport
import Foundation
import Intake
import LinuxSystem
import Logging
import TestSupport
import Testing
import UploadCore

@testable import Reports
@testable import Sidecars

@Suite("Sidecar writer, sources")
struct SourceSidecarWriterTests {
    private let place: TemporaryDirectory
    private let clock = HandClock()
    private let directory: RelativePath

    init() throws {
        place = try TemporaryDirectory()
        directory = try #require(RelativePath("trip"))
        try FileManager.default.createDirectory(atPath: place.path("trip"), withIntermediateDirectories: false)
    }

    @Test("writes reports of sources and files")
    func writes() async throws {
        let writer = writer()
        let file = try #require(RelativePath("trip/a.jpg"))
        writer.note(source: .seen(directory, .file(.uploading)))
        writer.note(.seen(file, .uploading))
        await writer.flush()
        #expect(try names() == ["a.jpg.outbox.json", "source.outbox.json"])
        #expect(try sidecar().contains("\"uploading\""))
    }

    @Test("writes a final state at once, even right after another state")
    func final() async throws {
        let writer = writer()
        writer.note(source: .seen(directory, .file(.verifying)))
        writer.note(source: .seen(directory, .file(.done)))
        try await Poll.until("the final state") { (try? sidecar().contains("\"done\"")) == true }
    }

    @Test("writes the sidecar of a rejected source even if rejected files get none")
    func rejected() async throws {
        let writer = writer()
        writer.note(source: .seen(directory, .file(.rejected)))
        await writer.flush()
        #expect(try sidecar().contains("\"rejected\""))
    }

    @Test("removes a sidecar, and starts over if the directory is a source again")
    func removes() async throws {
        let writer = writer()
        writer.note(source: .seen(directory))
        await writer.flush()
        writer.remove(source: directory)
        await writer.flush()
        #expect(try names().isEmpty)
        writer.note(source: .seen(directory))
        await writer.flush()
        #expect(try names() == ["source.outbox.json"])
    }

    @Test("repairs a sidecar without the outcome, and leaves a complete one")
    func repairs() async throws {
        var report = SourceReport.seen(directory, .file(.done))
        report.revision = 2
        report.finishedAt = report.updatedAt
        report.files = [.seen(try #require(RelativePath("trip/a.jpg")), .done)]
        let first = writer()
        var older = report
        older.state = .file(.verifying)
        first.note(source: older)
        await first.flush()
        let second = writer()
        second.repair(source: report)
        await second.flush()
        #expect(try sidecar().contains("\n  \"state\": \"done\""))
        let before = try inode()
        let third = writer()
        third.repair(source: report)
        await third.flush()
        #expect(try inode() == before)
    }

    @Test("reports no trouble if the directory is gone or was replaced by a file")
    func gone() async throws {
        try FileManager.default.removeItem(atPath: place.path("trip"))
        let writer = writer()
        writer.note(source: .seen(directory, .file(.uploading)))
        await writer.flush()
        try Data().write(to: URL(fileURLWithPath: place.path("trip")))
        writer.note(source: .seen(directory, .file(.cancelled)))
        await writer.flush()
        #expect(await !writer.isInTrouble)
    }

    /// Takes all 100 names that the sidecar may have, and returns their paths.
    private func takeAllNames() throws -> [String] {
        let taken = (1...100).map { copy in
            place.path("trip/" + String(decoding: SidecarName.name(for: "source".utf8, copy: copy), as: UTF8.self))
        }
        for name in taken { try FileManager.default.createDirectory(atPath: name, withIntermediateDirectories: false) }
        return taken
    }

    @Test("reports no trouble once a report equals the last sidecar that was written")
    func unchangedAgain() async throws {
        let writer = writer()
        writer.note(source: .seen(directory, .file(.uploading)))
        await writer.flush()
        try FileManager.default.removeItem(atPath: place.path("trip/source.outbox.json"))
        _ = try takeAllNames()
        writer.note(source: .seen(directory, .file(.done)))
        await writer.flush()
        #expect(await writer.isInTrouble)
        writer.note(source: .seen(directory, .file(.uploading)))
        await writer.flush()
        #expect(await !writer.isInTrouble)
    }

    @Test("writes the sidecar once writing is possible again")
    func failure() async throws {
        let taken = try takeAllNames()
        let writer = writer()
        writer.note(source: .seen(directory, .file(.done)))
        await writer.flush()
        #expect(await writer.isInTrouble)
        for name in taken { try FileManager.default.removeItem(atPath: name) }
        await writer.flush()
        #expect(try sidecar().contains("\"done\""))
        #expect(await !writer.isInTrouble)
    }

    @Test("keeps the other name for the sidecar of a file called source while writing both")
    func fileCalledSource() async throws {
        let file = try #require(RelativePath("trip/source"))
        let writer = writer()
        writer.note(.seen(file, .settling))
        await writer.flush()
        writer.note(source: .seen(directory, .file(.uploading)))
        writer.note(.seen(file, .uploading))
        await writer.flush()
        writer.note(.seen(file, .done))
        writer.note(source: .seen(directory, .file(.done)))
        await writer.flush()
        #expect(try names() == ["source (2).outbox.json", "source.outbox.json"])
        #expect(SourceReport.isSidecar(Array(try sidecar().utf8)))
        writer.remove(file)
        writer.remove(source: directory)
        await writer.flush()
        #expect(try names().isEmpty)
    }

    private func sidecar() throws -> String {
        try String(contentsOfFile: place.path("trip/source.outbox.json"), encoding: .utf8)
    }

    private func inode() throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: place.path("trip/source.outbox.json"))
        return attributes[.systemFileNumber] as? Int
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: place.path("trip")).sorted()
    }

    private func writer() -> SidecarWriter {
        SidecarWriter(
            store: SidecarStore(beside: PinnedDirectory(path: place.path)), writesRejected: false, clock: clock,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }
}
