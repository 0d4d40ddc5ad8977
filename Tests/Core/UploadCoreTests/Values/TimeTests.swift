import Testing
import UploadCore

@Suite("Moments and durations")
struct TimeTests {
    private func moment(_ nanoseconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: nanoseconds) }

    @Test("a moment plus a duration is later by that duration")
    func addition() {
        #expect(moment(5) + .nanoseconds(7) == moment(12))
        #expect(moment(5) + .nanoseconds(-3) == moment(2))
        #expect(moment(2_000_000_000) - moment(500_000_000) == .milliseconds(1500))
        #expect(moment(1) - moment(4) == .nanoseconds(-3))
    }

    @Test("sums stop at the ends of the clock")
    func ends() {
        #expect(moment(.max - 1) + .seconds(1) == moment(.max))
        #expect(moment(1) + .seconds(-1) == moment(0))
        #expect(moment(UInt64.max) - moment(0) == Duration.nanoseconds(Int64.max))
        #expect(moment(0) + .seconds(Int64.max) == moment(UInt64(Int64.max)))
        #expect(moment(0) + .seconds(Int64.min) == moment(0))
    }

    @Test("a duration is a whole number of nanoseconds, clamped")
    func nanoseconds() {
        #expect(Duration.milliseconds(1500).wholeNanoseconds == 1_500_000_000)
        #expect(Duration.milliseconds(-1500).wholeNanoseconds == -1_500_000_000)
        #expect(Duration.seconds(Int64.max).wholeNanoseconds == .max)
        #expect(Duration.seconds(Int64.min).wholeNanoseconds == .min)
    }

    @Test("the wall clock moves in milliseconds")
    func wall() {
        #expect(WallTime(milliseconds: 10).advanced(by: .seconds(2)) == WallTime(milliseconds: 2010))
        #expect(WallTime(milliseconds: 10).advanced(by: .microseconds(999)) == WallTime(milliseconds: 10))
        #expect(WallTime(milliseconds: 10).advanced(by: .seconds(-1)) == WallTime(milliseconds: -990))
    }
}

@Suite("Backoff")
struct BackoffTests {
    @Test("doubles from one second to its ceiling, each shortened by up to a quarter")
    func doubling() {
        var backoff = Backoff(ceiling: .seconds(120), seed: 7)
        for failures in 1...1000 {
            let full = min(Duration.seconds(1 << min(failures - 1, 7)), .seconds(120))
            let pause = backoff.pause(afterFailures: failures)
            #expect(pause <= full && pause >= full * 3 / 4)
        }
    }

    @Test("differs from time to time, and is the same for the same seed")
    func jitter() {
        var one = Backoff(ceiling: .seconds(120), seed: 1)
        var same = Backoff(ceiling: .seconds(120), seed: 1)
        var other = Backoff(ceiling: .seconds(120), seed: 2)
        let pauses = (0..<20).map { _ in one.pause(afterFailures: 9) }
        #expect(Set(pauses).count == 20)
        #expect(pauses == (0..<20).map { _ in same.pause(afterFailures: 9) })
        #expect(pauses != (0..<20).map { _ in other.pause(afterFailures: 9) })
    }

    @Test("accepts extreme arguments", arguments: [Int.min, -1, 0, Int.max])
    func oddArguments(failures: Int) {
        var backoff = Backoff(ceiling: .milliseconds(100), seed: 1)
        let pause = backoff.pause(afterFailures: failures)
        #expect(pause > .zero && pause <= .milliseconds(100))
    }

    @Test("is never zero")
    func zeroCeiling() {
        var backoff = Backoff(ceiling: .zero, seed: 1)
        #expect(backoff.pause(afterFailures: 3) > .zero)
    }
}
