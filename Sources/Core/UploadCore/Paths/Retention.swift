/// How long the outcomes of removed files and posts stay visible, whatever happens to the clock.
///
/// Where the clock was set, or the agent did not look for a week, nobody knows how much time has passed since an outcome.
/// The retention of all outcomes begins anew then.
package struct Retention: Equatable, Sendable {
    /// How long an outcome stays.
    package let length: Duration
    /// What the clock showed, to the hour, when somebody last looked at it.
    private var lastSeen: WallTime?
    /// When the retention of all earlier outcomes began anew.
    private var restart: WallTime?

    /// A longer time between two looks means that somebody set the clock, or that the machine was off.
    private static let longestGap = Duration.seconds(7 * 24 * 3600)
    /// Clocks that are kept by a time server go back by less.
    private static let hour = Duration.seconds(3600)

    package init(length: Duration) {
        self.length = length
    }

    /// Takes over what ``stored`` said in an earlier run.
    package mutating func restore(_ stored: [UInt8]) {
        let values = String(decoding: stored, as: UTF8.self).split(separator: " ").map { Int64($0) }
        lastSeen = values.first.flatMap(\.self).map(WallTime.init(milliseconds:))
        restart = values.dropFirst().first.flatMap(\.self).map(WallTime.init(milliseconds:))
    }

    /// The value for the ledger.
    package var stored: [UInt8] {
        let values = [lastSeen?.milliseconds, restart?.milliseconds].compactMap { $0.map(String.init) }
        return Array(values.joined(separator: " ").utf8)
    }

    /// Looks at the clock.
    ///
    /// - Returns: whether ``stored`` changed, which it does at most once an hour.
    @discardableResult
    package mutating func observe(_ now: WallTime) -> Bool {
        if let lastSeen {
            let (difference, isFar) = now.milliseconds.subtractingReportingOverflow(lastSeen.milliseconds)
            let passed = Duration.milliseconds(isFar ? .max : difference)
            if (.zero - Self.hour...Self.hour).contains(passed) { return false }
            if passed < .zero || passed > Self.longestGap { restart = now }
        }
        lastSeen = now
        return true
    }

    /// Whether the retention of an outcome is over.
    func isOver(_ finished: WallTime?, at now: WallTime) -> Bool {
        var begin = finished ?? now
        if let restart, begin.milliseconds < restart.milliseconds || begin.milliseconds > now.milliseconds {
            begin = restart
        }
        return begin.advanced(by: length).milliseconds <= now.milliseconds
    }
}
