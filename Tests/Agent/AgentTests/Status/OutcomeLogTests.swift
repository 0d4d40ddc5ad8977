import AgentConfiguration
import Testing
import UploadCore

@testable import Agent

@Suite("Outcomes in the log")
struct OutcomeLogTests {
    private func row(_ outcome: JournalRow.Outcome, error: FileError? = nil) throws -> JournalRow {
        let path = try #require(RelativePath("trip/a.jpg"))
        var row = JournalRow(time: WallTime(milliseconds: 0), subject: .file, outcome: outcome, path: path)
        row.size = 1000
        row.error = error
        return row
    }

    private let start = MonotonicTime(nanoseconds: 5)
    private let refused = FileError(code: "refused", message: "the server refused it", retryable: false)

    @Test(
        "a file in a final state has a line, with the reason unless done",
        arguments: [(.done, .info), (.failed, .warning), (.rejected, .notice), (.cancelled, .info)]
            as [(JournalRow.Outcome, Configuration.LogLevel)])
    func ended(outcome: JournalRow.Outcome, level: Configuration.LogLevel) throws {
        var log = OutcomeLog()
        let lines = log.lines(for: try row(outcome, error: outcome == .done ? nil : refused), now: start)
        #expect(lines.map(\.level) == [level])
        #expect(lines[0].metadata["path"] == "trip/a.jpg")
        #expect(lines[0].metadata["reason"] == (outcome == .done ? nil : "the server refused it"))
        #expect(lines[0].metadata["code"] == (outcome == .done ? nil : "refused"))
    }

    @Test("what becomes of the agent itself has no line", arguments: [JournalRow.Outcome.idle, .trouble, .recovered])
    func ofAgent(outcome: JournalRow.Outcome) throws {
        var log = OutcomeLog()
        #expect(log.lines(for: try row(outcome), now: start).isEmpty)
    }

    @Test("failures beyond a limit per minute are counted, not logged; every done file is logged")
    func flood() throws {
        var log = OutcomeLog()
        let failures = try (0..<500).flatMap { _ in log.lines(for: try row(.failed, error: refused), now: start) }
        #expect(failures.count == OutcomeLog.mostPerMinute + 1)
        #expect(failures.last?.message.contains("`outbox status` lists them") == true)
        let done = try (0..<500).flatMap { _ in log.lines(for: try row(.done), now: start) }
        #expect(done.count == 500)
        let later = start + .seconds(61)
        #expect(log.lines(for: try row(.failed, error: refused), now: later).count == 1)
    }
}
