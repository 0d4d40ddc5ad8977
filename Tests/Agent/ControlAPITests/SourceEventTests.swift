import AgentTestSupport
import Testing
import UploadCore

@testable import ControlAPI
@testable import Reports

@Suite("Events of sources")
struct SourceEventTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)

    private func report(_ state: SourceState, progress: Double = 0) throws -> SourceReport {
        var report = try SourceReport.sample("sea", state)
        report.progress = progress
        return report
    }

    /// Holds the pacing in a class, because `#expect` cannot call mutating methods of a value.
    private final class Pacer {
        private var pacing = EventPacing<SourceReport>(generation: 512)

        func isNews(_ report: SourceReport, now: MonotonicTime) -> Bool { pacing.news(in: report, now: now) != nil }
    }

    @Test("A change of state is an event at once, a repeated state is not")
    func states() throws {
        let pacer = Pacer()
        #expect(try pacer.isNews(report(.draft), now: start))
        #expect(try !pacer.isNews(report(.draft), now: start))
        #expect(try pacer.isNews(report(.file(.uploading)), now: start))
    }

    @Test("A later report with the same members is no event")
    func later() throws {
        let pacer = Pacer()
        var source = try report(.draft)
        _ = pacer.isNews(source, now: start)
        source.updatedAt = WallTime(milliseconds: source.updatedAt.milliseconds + 60_000)
        #expect(!pacer.isNews(source, now: start + .seconds(60)))
    }

    @Test("A new directory, pending changes and a new error are events at once")
    func changes() throws {
        let pacer = Pacer()
        var source = try report(.file(.done))
        _ = pacer.isNews(source, now: start)
        source.directory = try #require(RelativePath("lake"))
        #expect(pacer.isNews(source, now: start))
        source.pendingChanges = [try #require(RelativePath("new.jpg"))]
        #expect(pacer.isNews(source, now: start))
        source.error = FileError(code: "server_error", message: "no", retryable: true)
        #expect(pacer.isNews(source, now: start))
    }

    @Test("Progress is an event at most once a second, in steps of one per cent; slow progress every five seconds")
    func progress() throws {
        let pacer = Pacer()
        _ = try pacer.isNews(report(.file(.uploading), progress: 0.1), now: start)
        let step = try report(.file(.uploading), progress: 0.2)
        #expect(!pacer.isNews(step, now: start + .milliseconds(900)))
        #expect(pacer.isNews(step, now: start + .seconds(1)))
        let little = try report(.file(.uploading), progress: 0.2001)
        #expect(!pacer.isNews(little, now: start + .seconds(3)))
        #expect(pacer.isNews(little, now: start + .seconds(6)))
    }

    @Test("Changes of a file alone are an event at most once a second")
    func files() throws {
        let pacer = Pacer()
        var source = try report(.file(.uploading))
        source.files = [try .sample("sea/a.jpg", .queued)]
        _ = pacer.isNews(source, now: start)
        source.files = [try .sample("sea/a.jpg", .uploading)]
        #expect(!pacer.isNews(source, now: start + .milliseconds(900)))
        #expect(pacer.isNews(source, now: start + .seconds(1)))
    }

    @Test("A removed source is an event with its id, and its return is another event")
    func gone() throws {
        let hub = EventHub(clock: HandClock(), ledger: "ledger", outcome: 0)
        let reader = hub.reader(heartbeat: .seconds(60))
        let source = try report(.draft)
        hub.publish(source: source)
        hub.publish(sourceGone: source.id, source.directory)
        hub.publish(source: source)
        let events = reader.take().events
        #expect(
            events.map(\.content) == [.source(source), .sourceGone(id: source.id, source.directory), .source(source)])
        #expect(events.map(\.content.name) == ["source", "source_gone", "source"])
        #expect(
            String(decoding: events[1].content.controlText(), as: UTF8.self)
                == "{\"id\":\"\(source.id)\",\"path\":\"sea\"}")
    }
}
