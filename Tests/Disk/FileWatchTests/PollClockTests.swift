import Testing

@testable import FileWatch

@Suite final class PollClockTests {
    private var clock = PollClock(interval: .seconds(5))

    private func begin(at time: UInt64) -> Bool { clock.begin(now: at(time)) }

    @Test func `the first round is due an interval after there is something to poll`() {
        #expect(!begin(at: 100_000))
        clock.wind(now: at(1000))
        clock.wind(now: at(3000))
        #expect(clock.due == at(6000))
        #expect(!begin(at: 5999))
        #expect(begin(at: 6000) && clock.isRunning && clock.due == nil)
    }

    @Test func `a short round is followed by the next at the interval`() {
        clock.wind(now: at(0))
        #expect(begin(at: 5000))
        clock.finish(now: at(5500))
        #expect(clock.due == at(10_000))
    }

    @Test func `a long round leaves four fifths of the time to others`() {
        clock.wind(now: at(0))
        #expect(begin(at: 5000))
        clock.finish(now: at(9000))
        #expect(clock.due == at(25_000))
    }

    @Test func `nothing is due once there is nothing to poll`() {
        clock.wind(now: at(0))
        #expect(begin(at: 5000))
        clock.stop()
        #expect(!clock.isRunning && clock.due == nil)
    }
}
