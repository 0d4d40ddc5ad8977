import Reports
import Testing
import UploadCore

@testable import Agent

@Suite("What was sent during the last hour")
struct RecentTransfersTests {
    private var recent = RecentTransfers()

    private func now(_ seconds: UInt64) -> Now {
        Now(
            monotonic: MonotonicTime(nanoseconds: seconds * 1_000_000_000),
            wall: WallTime(milliseconds: Int64(seconds) * 1000))
    }

    private mutating func record(_ sizes: [Int], failed: Int = 0, at seconds: UInt64) {
        recent.record(acknowledged: sizes, failed: failed, at: now(seconds).monotonic)
    }

    @Test("is summed up in intervals of ten seconds, the latest last")
    mutating func intervals() {
        record([5, 6], at: 100_000)
        record([7], failed: 2, at: 100_009)
        record([8], at: 100_010)
        let history = recent.history(at: now(100_015))
        #expect(history.bytes.count == 360 && history.interval == 10)
        #expect(history.bytes.suffix(3) == [0, 18, 8])
        #expect(history.fragments.suffix(3) == [0, 3, 1])
        #expect(history.failed.suffix(3) == [0, 2, 0])
        #expect(history.bytes.dropLast(2).allSatisfy { $0 == 0 })
        #expect(history.end == "1970-01-02T03:47:00.000Z")
    }

    @Test("is forgotten after an hour, also after hours of silence")
    mutating func forgetting() {
        record([5], at: 100_000)
        #expect(recent.history(at: now(103_590)).bytes.first == 5)
        #expect(recent.history(at: now(103_600)).bytes.allSatisfy { $0 == 0 })
        record([9], at: 200_000)
        #expect(recent.history(at: now(200_000)).bytes.reduce(0, +) == 9)
        #expect(recent.history(at: now(900_000)).bytes.reduce(0, +) == 0)
    }

    @Test("begins with zeros just after the boot")
    mutating func boot() {
        record([3], at: 5)
        record([4], at: 15)
        #expect(recent.history(at: now(16)).bytes.suffix(3) == [0, 3, 4])
    }
}
