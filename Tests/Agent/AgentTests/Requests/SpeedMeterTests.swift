import Testing
import UploadCore

@testable import Agent

@Suite("Speed meter")
struct SpeedMeterTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)

    @Test("knows no speed before the first bytes")
    func empty() {
        #expect(SpeedMeter().bytesPerSecond(at: start) == nil)
    }

    @Test("measures the speed of a steady stream", arguments: [1, 10, 100])
    func steady(perSecond: Int) throws {
        var meter = SpeedMeter()
        for step in 0..<(8 * perSecond) {
            meter.add(1000, at: start + .seconds(1) * step / perSecond)
        }
        let speed = Double(try #require(meter.bytesPerSecond(at: start + .seconds(8))))
        #expect(abs(speed / Double(1000 * perSecond) - 1) < 0.1)
    }

    @Test("does not overestimate at first if the start of sending is known")
    func beginning() throws {
        var meter = SpeedMeter()
        meter.add(0, at: start)
        for second in 1...2 { meter.add(60_000, at: start + .seconds(second)) }
        #expect(try #require(meter.bytesPerSecond(at: start + .seconds(2))) == 60_000)
    }

    @Test("forgets bytes older than its window")
    func window() throws {
        var meter = SpeedMeter()
        meter.add(1_000_000_000, at: start)
        meter.add(1000, at: start + SpeedMeter.window + .seconds(1))
        #expect(try #require(meter.bytesPerSecond(at: start + SpeedMeter.window + .seconds(2))) == 1000)
    }

    @Test("falls while no bytes arrive")
    func stalls() throws {
        var meter = SpeedMeter()
        meter.add(10_000, at: start)
        let soon = try #require(meter.bytesPerSecond(at: start + .seconds(1)))
        let late = try #require(meter.bytesPerSecond(at: start + .seconds(9)))
        #expect(late < soon)
    }

    @Test("handles all bytes at one moment")
    func burst() {
        var meter = SpeedMeter()
        for _ in 0..<10_000 { meter.add(1 << 19, at: start) }
        #expect(meter.bytesPerSecond(at: start) == 10_000 * (1 << 19) * 2)
    }
}
