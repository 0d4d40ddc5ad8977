import Testing

@testable import UploadCore

@Suite("The retention of outcomes")
struct RetentionTests {
    private static let day: Int64 = 24 * 3600 * 1000

    /// Returns whether an outcome of day 100 is over after looks at the clock, all in days.
    private func isOver(_ days: Double, looks: [Double], finished: Double = 100) -> Bool {
        func time(_ days: Double) -> WallTime { WallTime(milliseconds: Int64(days * Double(Self.day))) }
        var retention = Retention(length: .seconds(24 * 3600))
        for look in looks {
            // Each look in a run of its own.
            var next = Retention(length: .seconds(24 * 3600))
            next.restore(retention.stored)
            next.observe(time(look))
            retention = next
        }
        return retention.isOver(time(finished), at: time(days))
    }

    @Test("counts time that passed: a clock two years ahead, for a while or for good, ends none at once")
    func ahead() {
        #expect(!isOver(100.9, looks: [99, 100.9]))
        #expect(isOver(101, looks: [99, 101]))
        #expect(!isOver(830, looks: [100, 830]))
        #expect(!isOver(830.9, looks: [100, 830, 830.9]))
        #expect(isOver(831, looks: [100, 830, 831]))
        #expect(!isOver(100.2, looks: [100, 830, 100.2]))
        #expect(isOver(101.2, looks: [100, 830, 100.2, 101.2]))
    }

    @Test("ends for outcomes of the time when the clock was ahead")
    func finishedAhead() {
        #expect(!isOver(100.2, looks: [99, 829, 830.5, 100.2], finished: 830))
        #expect(isOver(101.2, looks: [99, 829, 830.5, 100.2, 101.2], finished: 830))
    }

    @Test("does not begin anew after small corrections of the clock, and nights without power")
    func usual() {
        #expect(isOver(101, looks: [100, 99.97, 100.6, 101]))
    }

    @Test("without a look at the clock, and with a damaged record of one, counts by the clock")
    func none() {
        #expect(isOver(101, looks: []))
        var retention = Retention(length: .seconds(1))
        retention.restore([0xff, 0x20, 0x31, 0x20, 0x20])
        #expect(retention.isOver(WallTime(milliseconds: 0), at: WallTime(milliseconds: 2000)))
    }
}
