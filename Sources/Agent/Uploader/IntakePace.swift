import UploadCore

/// Has the watch keep step with uploads that follow each other fast.
///
/// Hashing a small file is a fraction of the work of its upload. If hashing ran ahead, most uploads of a burst would go
/// through the queue in the ledger, which is a tenth of all work. So queued uploads count as load of the watch. On a
/// slow link, or without a server, they don't: there the agent takes all files soon, and people see them as queued.
struct IntakePace: Sendable {
    static let interval = Duration.milliseconds(500)
    /// If fewer uploads end in an interval, they are slow.
    static let least = 64

    private var begun: MonotonicTime?
    private var ended = 0
    private var isSlow = false

    /// When the load may change although nothing happens; `nil` if it can't.
    var deadline: MonotonicTime? { isSlow ? nil : begun.map { $0 + Self.interval } }

    /// Counts an upload that ended.
    mutating func uploadEnded() { ended += 1 }

    /// Returns the load of the watch by queued uploads. Call it whenever their number may have changed.
    ///
    /// - Parameter hasBacklog: whether more uploads wait in the ledger. To wait for them would keep new files out for
    ///   long.
    mutating func load(queued: Int, hasBacklog: Bool, now: MonotonicTime) -> Int {
        guard queued > 0, !hasBacklog else {
            self = IntakePace()
            return 0
        }
        guard let start = begun else {
            (begun, ended) = (now, 0)
            return queued
        }
        if now - start >= Self.interval {
            isSlow = ended < Self.least
            (begun, ended) = (now, 0)
        }
        return isSlow ? 0 : queued
    }
}
