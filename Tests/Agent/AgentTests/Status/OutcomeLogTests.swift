import AgentConfiguration
import Reports
import Testing
import UploadCore

@testable import Agent

@Suite("Outcomes in the log")
struct OutcomeLogTests {
    private func report(_ state: FileState, error: FileError? = nil) throws -> FileReport {
        let path = try #require(RelativePath("trip/a.jpg"))
        let time = WallTime(milliseconds: 0)
        var report = FileReport(
            path: path, state: state, remoteProtocol: "filesection", acceptedAt: time, updatedAt: time)
        report.size = 1000
        report.error = error
        return report
    }

    private let start = MonotonicTime(nanoseconds: 5)
    private let refused = FileError(code: "refused", message: "the server refused it", retryable: false)

    @Test(
        "a file in a final state has a line, with the reason unless done",
        arguments: [(.done, .info), (.failed, .warning), (.rejected, .notice), (.cancelled, .info)]
            as [(FileState, Configuration.LogLevel)])
    func ended(state: FileState, level: Configuration.LogLevel) throws {
        var log = OutcomeLog()
        let lines = log.lines(for: try report(state, error: state == .done ? nil : refused), now: start)
        #expect(lines.map(\.level) == [level])
        #expect(lines[0].metadata["path"] == "trip/a.jpg")
        #expect(lines[0].metadata["reason"] == (state == .done ? nil : "the server refused it"))
        #expect(lines[0].metadata["code"] == (state == .done ? nil : "refused"))
    }

    @Test("a file on its way has no line", arguments: [FileState.settling, .uploading, .waiting, .paused])
    func underWay(state: FileState) throws {
        var log = OutcomeLog()
        #expect(log.lines(for: try report(state, error: refused), now: start).isEmpty)
    }

    @Test("failures beyond a limit per minute are counted, not logged; every done file is logged")
    func flood() throws {
        var log = OutcomeLog()
        let failures = try (0..<500).flatMap { _ in log.lines(for: try report(.failed, error: refused), now: start) }
        #expect(failures.count == OutcomeLog.mostPerMinute + 1)
        #expect(failures.last?.message.contains("`outbox status` lists them") == true)
        let done = try (0..<500).flatMap { _ in log.lines(for: try report(.done), now: start) }
        #expect(done.count == 500)
        let later = start + .seconds(61)
        #expect(log.lines(for: try report(.failed, error: refused), now: later).count == 1)
    }
}
