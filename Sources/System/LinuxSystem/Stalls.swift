import Glibc
import Synchronization

/// The calls that have not returned for a while, for instance because a file system does not answer.
///
/// A thread that may block records its work here. A watchdog thread looks at the records four times a second while there
/// are any, and sleeps otherwise.
public final class Stalls: Sendable {
    /// Work that has made no progress for a while.
    public struct Stall: Hashable, Sendable {
        /// Where: the path of a mount, for people.
        public var place: String
        /// What: "reading usb/a.bin".
        public var work: String

        /// Describes a stall.
        public init(place: String, work: String) {
            self.place = place
            self.work = work
        }
    }

    /// How long work has made no progress.
    public enum Silence: Int, Comparable, Sendable {
        /// Not noteworthy.
        case none
        /// For ``lateAfter``: its thread may be replaced.
        case late
        /// For the limit: it is reported.
        case stalled

        /// Compares by length.
        public static func < (left: Silence, right: Silence) -> Bool { left.rawValue < right.rawValue }
    }

    /// Work of one thread, from its begin to its end.
    public final class Activity: Sendable {
        fileprivate let stall: Stall
        fileprivate let onChange: (@Sendable (Silence) -> Void)?
        fileprivate let told = Atomic(Silence.none.rawValue)
        private let lastProgress: Atomic<UInt64>

        fileprivate init(_ stall: Stall, since: UInt64, onChange: (@Sendable (Silence) -> Void)?) {
            self.stall = stall
            self.onChange = onChange
            lastProgress = Atomic(since)
        }

        /// Records that the work makes progress. Cheap.
        public func progress() { lastProgress.store(monotonicNanoseconds(), ordering: .relaxed) }

        fileprivate func silence(at now: UInt64) -> Duration {
            .nanoseconds(Int64(clamping: now - min(now, lastProgress.load(ordering: .relaxed))))
        }
    }

    private struct Table {
        var activities: [ObjectIdentifier: Activity] = [:]
        var told: Set<Stall> = []
        var isWatching = false
        /// When the last activity ended.
        var idleSince: UInt64 = 0
    }

    /// Silence after which work is late.
    public static let lateAfter = Duration.milliseconds(500)
    /// The watchdog stays for this time after the last work, since starting a thread takes longer than most work.
    private static let linger = Duration.seconds(5)
    private static let tick = Duration.milliseconds(250)

    private let limit: Duration
    private let onChange: @Sendable ([Stall]) -> Void
    private let table = Mutex(Table())

    /// Creates an empty list.
    ///
    /// - Parameters:
    ///   - limit: silence after which work is reported.
    ///   - onChange: called on the watchdog's thread with all work that is silent for so long, whenever that changes.
    public init(limit: Duration = .seconds(6), onChange: @escaping @Sendable ([Stall]) -> Void = { _ in }) {
        self.limit = limit
        self.onChange = onChange
    }

    /// Records the begin of work.
    ///
    /// - Parameters:
    ///   - since: when it began, on CLOCK_MONOTONIC.
    ///   - onChange: called on the watchdog's thread when the silence changes.
    public func begin(
        _ stall: Stall, since: UInt64 = monotonicNanoseconds(), onChange: (@Sendable (Silence) -> Void)? = nil
    ) -> Activity {
        let activity = Activity(stall, since: since, onChange: onChange)
        let mustStart = table.withLock { table in
            table.activities[ObjectIdentifier(activity)] = activity
            defer { table.isWatching = true }
            return !table.isWatching
        }
        if mustStart { startThread(name: "watchdog") { self.watch() } }
        return activity
    }

    /// Records the end of work.
    public func end(_ activity: Activity) {
        table.withLock { table in
            table.activities[ObjectIdentifier(activity)] = nil
            if table.activities.isEmpty { table.idleSince = monotonicNanoseconds() }
        }
    }

    private func watch() {
        while true {
            usleep(UInt32(Self.tick.components.attoseconds / 1_000_000_000_000))
            let (changes, news, isOver) = table.withLock { table -> ([(Activity, Silence)], [Stall]?, Bool) in
                // Not before the lock is held: work could end later than that.
                let now = monotonicNanoseconds()
                var changes: [(Activity, Silence)] = []
                var stalled: Set<Stall> = []
                for activity in table.activities.values {
                    let time = activity.silence(at: now)
                    let silence: Silence = time >= limit ? .stalled : time >= Self.lateAfter ? .late : .none
                    if activity.told.exchange(silence.rawValue, ordering: .relaxed) != silence.rawValue {
                        changes.append((activity, silence))
                    }
                    if silence == .stalled { stalled.insert(activity.stall) }
                }
                let news = stalled == table.told ? nil : stalled.sorted { ($0.place, $0.work) < ($1.place, $1.work) }
                table.told = stalled
                let isOver =
                    table.activities.isEmpty && stalled.isEmpty
                    && now - table.idleSince >= UInt64(Self.linger.components.seconds) * 1_000_000_000
                if isOver { table.isWatching = false }
                return (changes, news, isOver)
            }
            for (activity, silence) in changes { activity.onChange?(silence) }
            if let news { onChange(news) }
            if isOver { return }
        }
    }
}
