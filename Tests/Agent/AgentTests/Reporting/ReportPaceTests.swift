import Testing
import UploadCore

@testable import Agent

@Suite("Pace of reports")
struct ReportPaceTests {
    private var pace = ReportPace()
    private var now = MonotonicTime(nanoseconds: 0) + .seconds(1)

    private mutating func admits(_ name: String, _ state: FileState) throws -> Bool {
        let path = try #require(RelativePath(name))
        return pace.admits(path, state, now: now)
    }

    private mutating func take() -> [String] { pace.takeDelayed().map(\.description) }

    /// Returns how many reports of other paths are admitted in the present interval, of twice as many as usual.
    private mutating func fill() throws -> Int {
        try (0..<ReportPace.mostAtOnce * 2).count { number in try admits("other\(number)", .queued) }
    }

    @Test("admits only so many reports in each interval")
    mutating func interval() throws {
        for _ in 1...3 {
            let admitted = try fill()
            #expect(admitted == ReportPace.mostAtOnce)
            let delayed = take()
            #expect(delayed.count == ReportPace.mostAtOnce)
            #expect(pace.deadline == nil)
            now = now + ReportPace.interval
        }
    }

    @Test("admits as many again in the next interval, if none was delayed")
    mutating func next() throws {
        for _ in 0...ReportPace.mostAtOnce {
            let isAdmitted = try admits("a", .queued)
            #expect(isAdmitted)
            now = now + ReportPace.interval / 2
        }
        #expect(pace.deadline == nil)
    }

    @Test("delays a path to the end of the interval, even if nobody takes it then")
    mutating func delay() throws {
        _ = try fill()
        let end = now + ReportPace.interval
        now = now + ReportPace.interval * 2
        let isAdmitted = try admits("a", .hashing)
        #expect(!isAdmitted)
        #expect(pace.deadline == end)
        let delayed = take()
        #expect(delayed.contains("a"))
        let isAdmittedLater = try admits("a", .queued)
        #expect(isAdmittedLater)
    }

    @Test("delays no final state, and forgets what was delayed of the path")
    mutating func final() throws {
        _ = try fill()
        let isAdmitted = try admits("other\(ReportPace.mostAtOnce)", .done)
        #expect(isAdmitted)
        let delayed = take()
        #expect(delayed.count == ReportPace.mostAtOnce - 1)
    }
}
