import Synchronization
import TestSupport
import Testing
import UploadCore

import Clocks

@Suite("Alarm")
struct AlarmTests {
    private let rings = Counter()

    private final class Counter: Sendable {
        let count = Atomic(0)
    }

    private func time(_ milliseconds: UInt64) -> MonotonicTime {
        MonotonicTime(nanoseconds: milliseconds * 1_000_000)
    }

    private func set(_ alarm: inout Alarm, for time: MonotonicTime, now: MonotonicTime) {
        alarm.set(for: time, now: now) { [rings] in rings.count.add(1, ordering: .relaxed) }
    }

    @Test("rings while it is set again and again after its time")
    func overdue() async throws {
        var alarm = Alarm()
        try await Poll.until("the alarm", every: .microseconds(50)) {
            set(&alarm, for: time(5), now: time(6))
            return rings.count.load(ordering: .relaxed) > 0
        }
    }

    @Test("is set anew if it is long overdue: the machine may have slept")
    func slept() async throws {
        var alarm = Alarm()
        set(&alarm, for: time(3_600_000), now: time(0))
        set(&alarm, for: time(3_600_000), now: time(3_602_000))
        try await Poll.until("the alarm") { rings.count.load(ordering: .relaxed) == 1 }
    }

    @Test("is moved to an earlier time, and no longer rings at the later one")
    func earlier() async throws {
        var alarm = Alarm()
        set(&alarm, for: time(3_600_000), now: time(0))
        set(&alarm, for: time(1), now: time(0))
        try await Poll.until("the alarm") { rings.count.load(ordering: .relaxed) == 1 }
        alarm.rang()
    }
}
