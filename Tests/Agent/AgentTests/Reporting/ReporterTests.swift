import Clocks
import AgentTestSupport
import Foundation
import Ledger
import Reports
import Sidecars
import TestSupport
import Testing
import UploadCore

@testable import Agent
@testable import ControlAPI

@Suite("Reporter")
struct ReporterTests {
    private var stage: ReportStage

    init() throws { stage = try ReportStage() }

    /// Whether a file of the outbox exists, once all sidecars are written.
    private func exists(_ name: String) async -> Bool {
        await stage.sidecars.flush()
        return FileManager.default.fileExists(atPath: stage.place.path("outbox/\(name)"))
    }

    @Test("writes a sidecar, publishes an event, and names the posts of the files")
    mutating func report() async throws {
        let directory = try stage.addPost(.collecting)
        let paths = try ["a", "sea/a.jpg"].map { try stage.add($0).path }
        var reporter = stage.reporter
        let unknown = try #require(RelativePath("unknown"))
        let posts = reporter.report(paths + [unknown], stage.world)
        #expect(posts == [directory])
        #expect(stage.events.published == 2)
        #expect(await exists("a.outbox.json"))
        #expect(await exists("sea/a.jpg.outbox.json"))
        #expect(await !exists("unknown.outbox.json"))
    }

    @Test("reports the latest states of many files together, and names the posts of the files then")
    mutating func burst() async throws {
        let directory = try stage.addPost(.collecting)
        var reporter = stage.reporter
        let many = try (0..<ReportPace.mostAtOnce).map { try stage.add("early\($0)").path }
        _ = reporter.report(many, stage.world)
        #expect(stage.events.published == UInt64(many.count))
        #expect(reporter.deadline == nil)

        // These three come too late. Then a is queued and b is done.
        let paths = try ["a", "b", "sea/a.jpg"].map { try stage.add($0, .hashing).path }
        let posts = reporter.report(paths, stage.world)
        #expect(posts == [])
        #expect(stage.events.published == UInt64(many.count))
        #expect(reporter.deadline == stage.clock.now.monotonic + ReportPace.interval)
        _ = try stage.add("a", .queued)
        await stage.ledger.commit([stage.book.keep(try stage.record("b", .done))])
        _ = reporter.report(paths[...1], stage.world)
        #expect(stage.events.published == UInt64(many.count + 1))

        let delayedPosts = reporter.reportDelayed(stage.world)
        #expect(delayedPosts == [directory])
        #expect(stage.events.published == UInt64(many.count + 3))
        #expect(reporter.deadline == nil)
        #expect(await exists("b.outbox.json"))
    }

    @Test("logs and publishes each row of the journal once, however late more is known of the file")
    mutating func outcome() async throws {
        let outcomes = { [log = stage.log] in
            log.lines.filter { $0.hasPrefix("info a file is done") }.map { $0.split(separator: " ")[5] }
        }
        let reader = stage.events.reader(heartbeat: .seconds(60))
        var reporter = stage.reporter
        var record = try stage.record("a", .done)
        record.finishedAt = stage.clock.now.wall
        await stage.ledger.commit([stage.book.keep(record)])
        let row = try #require(JournalRow(record, isPortrait: false))
        reporter.tell(JournalEntry(number: 1, row: row), stage.world)
        _ = reporter.report([record.path], stage.world)
        record.facts = MediaFacts(width: 640, height: 480)
        await stage.ledger.commit([stage.book.keep(record)])
        _ = reporter.report([record.path], stage.world)
        #expect(outcomes() == ["path=a"])
        let events = reader.take().events
        #expect(events.map { stage.events.text($0.id) } == ["ledger-1", "ledger-1.2"])
        let widths = events.map { event in
            if case .state(let report) = event.content { report.facts.width ?? 0 } else { -1 }
        }
        #expect(widths == [0, 640])
    }

    @Test("tells of a row whose file is under way again what the row says")
    mutating func outdated() async throws {
        let reader = stage.events.reader(heartbeat: .seconds(60))
        var record = try stage.record("a", .failed)
        record.finishedAt = stage.clock.now.wall
        record.error = FileError(code: "too_large", message: "it is too large", retryable: false)
        let row = try #require(JournalRow(record, isPortrait: false))
        _ = try stage.add("a", .hashing)
        var reporter = stage.reporter
        reporter.tell(JournalEntry(number: 1, row: row), stage.world)
        let event = try #require(reader.take().events.first)
        guard case .state(let report) = event.content else { throw CancellationError() }
        #expect(report.state == .failed && report.error == record.error && report.size == stage.size)
        #expect(stage.log.lines.contains { $0.hasPrefix("warning a file failed") })
    }

    @Test("keeps back the sidecars of files and posts on an unmounted file system until they are back")
    mutating func withheld() async throws {
        let directory = try stage.addPost(.collecting)
        let path = try stage.add("sea/a.jpg").path
        _ = stage.book.handle(.mountLost(directory), now: stage.clock.now, facts: stage.core)
        var reporter = stage.reporter
        _ = reporter.report([path], stage.world)
        reporter.report(post: directory, stage.world)
        reporter.writeWithheld(stage.world)
        #expect(stage.events.published == 2)
        #expect(await !exists("sea/a.jpg.outbox.json"))
        #expect(await !exists("sea/source.outbox.json"))
        _ = stage.book.handle(
            .mounted(directory, isSame: true, descriptions: []), now: stage.clock.now, facts: stage.core)
        reporter.writeWithheld(stage.world)
        #expect(await exists("sea/a.jpg.outbox.json"))
        #expect(await exists("sea/source.outbox.json"))
    }
}
