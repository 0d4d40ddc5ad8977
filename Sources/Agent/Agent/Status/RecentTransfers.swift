import Text
import Reports
import UploadCore

/// What was sent during the last hour, in intervals of 10 s. Nothing wakes to record it, and its size is fixed.
struct RecentTransfers: Sendable {
    private struct Interval {
        var bytes: UInt64 = 0
        var fragments: UInt64 = 0
        var failed: UInt64 = 0
    }

    static let seconds: Int64 = 10
    static let count = 360

    private var ring = [Interval](repeating: Interval(), count: count)
    /// The number of the latest interval, counted from the boot.
    private var latest: Int64 = 0

    /// Records the end of a request that carried fragments.
    mutating func record(acknowledged sizes: [Int], failed: Int, at now: MonotonicTime) {
        let place = Self.place(of: advance(to: now))
        ring[place].bytes += UInt64(sizes.reduce(0, +))
        ring[place].fragments += UInt64(sizes.count)
        ring[place].failed += UInt64(failed)
    }

    /// Returns the intervals up to now.
    func history(at now: Now) -> TransferHistory {
        var copy = self
        let last = copy.advance(to: now.monotonic)
        let intervals = (last - Int64(Self.count) + 1...last).map { copy.ring[Self.place(of: $0)] }
        let end = MonotonicTime(nanoseconds: UInt64((last + 1) * Self.seconds) * 1_000_000_000)
        return TransferHistory(
            interval: Int(Self.seconds), end: Timestamp.text(now.wall.advanced(by: end - now.monotonic)),
            bytes: intervals.map(\.bytes), fragments: intervals.map(\.fragments), failed: intervals.map(\.failed))
    }

    /// Clears the intervals since the latest one, and returns the number of the present one.
    private mutating func advance(to now: MonotonicTime) -> Int64 {
        let present = Int64(now.nanoseconds / 1_000_000_000) / Self.seconds
        let first = max(latest, present - Int64(Self.count)) + 1
        if first <= present { for number in first...present { ring[Self.place(of: number)] = Interval() } }
        latest = max(latest, present)
        return latest
    }

    /// Numbers may be negative in the first hour after the boot.
    private static func place(of number: Int64) -> Int { Int(((number % Int64(count)) + Int64(count)) % Int64(count)) }
}
