import UploadCore

/// Has the watch keep step with uploads that follow each other fast.
///
/// Hashing a small file is a fraction of the work of its upload. If hashing ran ahead, most uploads of a burst would go
/// through the queue in the ledger, which is a tenth of all work. So queued small uploads count as load of the watch. On
/// a slow link, or without a server, they don't: there the agent takes all files soon, and people see them as queued.
/// Once it has taken more than it holds in memory, the rest of the burst goes through the ledger.
struct IntakePace: Sendable {
    static let interval = Duration.milliseconds(500)
    /// An interval is slow if the uploads of fewer paths, and of fewer bytes, end in it.
    static let least = 64
    static let leastBytes: UInt64 = 32 << 20
    /// Uploads are slow after as many slow intervals in a row: one may pass with a new connection, or a busy disk.
    static let patience = 2

    private var begun: MonotonicTime?
    private var ended = 0
    private var endedBytes: UInt64 = 0
    private var slowIntervals = 0

    private var isSlow: Bool { slowIntervals >= Self.patience }

    /// When to ask for the load again, even if nothing happens; `nil` if it can't change.
    var deadline: MonotonicTime? { isSlow ? nil : begun.map { $0 + Self.interval } }

    /// Counts a path whose upload ended, and the bytes of its file.
    mutating func pathEnded(bytes: UInt64) {
        ended += 1
        endedBytes += bytes
    }

    /// Returns the load of the watch by queued uploads. Call it whenever their number may have changed.
    ///
    /// - Parameters:
    ///   - queued: the number of queued small uploads.
    ///   - hasBacklog: whether more uploads wait in the ledger. They may take hours, and new files must not wait so long.
    mutating func load(queued: Int, hasBacklog: Bool, now: MonotonicTime) -> Int {
        guard queued > 0, !hasBacklog else {
            self = IntakePace()
            return 0
        }
        guard let start = begun else {
            begin(now)
            return queued
        }
        if now - start >= Self.interval {
            slowIntervals = ended < Self.least && endedBytes < Self.leastBytes ? slowIntervals + 1 : 0
            begin(now)
        }
        return isSlow ? 0 : queued
    }

    private mutating func begin(_ now: MonotonicTime) { (begun, ended, endedBytes) = (now, 0, 0) }
}
