import Testing
import UploadCore

@testable import Agent

@Suite("Pace of reports")
struct ReportPaceTests {
    private var pace = ReportPace()
    private var now = MonotonicTime(nanoseconds: 0) + .seconds(1)

    /// Fills the present interval with reports of other paths.
    private mutating func fill() throws {
        for number in 0..<ReportPace.mostAtOnce {
            let path = try #require(RelativePath("other\(number)"))
            #expect(pace.admits(path, .queued, now: now))
        }
    }

    @Test("admits as many reports as usual in each interval")
    mutating func usual() throws {
        for _ in 1...3 {
            try fill()
            now += ReportPace.interval
        }
        #expect(pace.deadline == nil)
    }

    @Test("delays the others to the end of the interval, even if nobody takes them then")
    mutating func delay() throws {
        try fill()
        let path = try #require(RelativePath("a"))
        let end = now + ReportPace.interval
        #expect(!pace.admits(path, .settling, now: now))
        now += ReportPace.interval * 2
        #expect(!pace.admits(path, .hashing, now: now))
        #expect(pace.deadline == end)
        #expect(pace.takeDelayed(now: now) == [path])
        #expect(pace.takeDelayed(now: now) == [])
        #expect(pace.admits(path, .queued, now: now))
    }

    @Test("delays no final state, and forgets what was delayed of the path")
    mutating func final() throws {
        try fill()
        let path = try #require(RelativePath("a"))
        #expect(!pace.admits(path, .verifying, now: now))
        #expect(pace.admits(path, .done, now: now))
        #expect(pace.deadline == nil)
    }
}
