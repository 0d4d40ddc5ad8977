import AgentTestSupport
import Foundation
import LinuxSystem
import Logging
import Reports
import TestSupport
import Testing
import UploadCore

@testable import Sidecars

@Suite("Sidecar writer")
struct SidecarWriterTests {
    private let place: TemporaryDirectory
    private let clock = HandClock()
    private let path: RelativePath

    init() throws {
        place = try TemporaryDirectory()
        path = try #require(RelativePath("a.jpg"))
    }

    @Test("writes reports, the newest at the flush at the latest")
    func writes() async throws {
        let writer = writer()
        writer.note(.seen(path, .settling))
        await writer.flush()
        #expect(try sidecar().contains("\"settling\""))
        writer.note(.seen(path, .hashing))
        writer.note(.seen(path, .uploading))
        await writer.flush()
        #expect(try sidecar().contains("\"uploading\""))
    }

    @Test("writes a final state at once, even right after another state")
    func final() async throws {
        let writer = writer()
        writer.note(.seen(path, .settling))
        writer.note(.seen(path, .done))
        try await Poll.until("the final state") { (try? sidecar().contains("\"done\"")) == true }
    }

    @Test("never writes the same report twice, regardless of its time")
    func same() async throws {
        let writer = writer()
        var report = FileReport.seen(path, .uploading)
        writer.note(report)
        await writer.flush()
        let first = try FileStatus(path: file)
        report.updatedAt = WallTime(milliseconds: 0)
        writer.note(report)
        await writer.flush()
        #expect(try FileStatus(path: file) == first)
        report.progress = 0.5
        writer.note(report)
        await writer.flush()
        #expect(try FileStatus(path: file).inode != first.inode)
    }

    @Test("removes a sidecar, even one about to be written")
    func removes() async throws {
        let writer = writer()
        writer.note(.seen(path, .settling))
        await writer.flush()
        writer.note(.seen(path, .uploading))
        writer.remove(path)
        await writer.flush()
        #expect(throws: (any Error).self) { try sidecar() }
    }

    @Test("writes no sidecars for rejected files, and removes earlier ones, if so configured")
    func rejected() async throws {
        let writer = writer(writesRejected: false)
        writer.note(.seen(path, .hashing))
        await writer.flush()
        #expect(try sidecar().contains("\"hashing\""))
        writer.note(.seen(path, .rejected))
        await writer.flush()
        #expect(throws: (any Error).self) { try sidecar() }
    }

    @Test("repairs a sidecar without the outcome, and leaves a complete one")
    func repairs() async throws {
        var report = FileReport.seen(path, .done)
        report.finishedAt = WallTime(milliseconds: 1_795_253_401_000)
        let first = writer()
        first.note(.seen(path, .uploading))
        await first.flush()
        let second = writer()
        second.repair(report)
        await second.flush()
        #expect(try sidecar().contains("\"done\""))
        let before = try FileManager.default.attributesOfItem(atPath: file)[.systemFileNumber] as? Int
        let third = writer()
        third.repair(report)
        await third.flush()
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.systemFileNumber] as? Int == before)
    }

    @Test("writes under another name beside a foreign file")
    func foreign() async throws {
        try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
        let writer = writer()
        writer.note(.seen(path, .settling))
        await writer.flush()
        writer.note(.seen(path, .done))
        await writer.flush()
        #expect(try sidecar() == "mine")
        let second = try String(contentsOfFile: place.path("a.jpg (2).outbox.json"), encoding: .utf8)
        #expect(second.contains("\"done\""))
        writer.remove(path)
        await writer.flush()
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.path) == ["a.jpg.outbox.json"])
    }

    private var file: String { place.path("a.jpg.outbox.json") }

    private func sidecar() throws -> String { try String(contentsOfFile: file, encoding: .utf8) }

    private func writer(writesRejected: Bool = true) -> SidecarWriter {
        SidecarWriter(
            store: SidecarStore(beside: PinnedDirectory(path: place.path)), writesRejected: writesRejected,
            clock: clock, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }
}
