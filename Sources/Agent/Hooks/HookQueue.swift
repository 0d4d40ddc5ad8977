import AgentConfiguration
import UploadCore

/// Decides when a hook is called, and with which outcomes. One call at a time; all outcomes in the order of the journal;
/// each at least once.
struct HookQueue: Sendable {
    /// What to do next.
    enum Next: Equatable {
        /// Look at more rows of the journal.
        case read(after: UInt64)
        /// Call the hook with these rows.
        case call([JournalEntry])
        /// Store the position.
        case store(UInt64)
        /// Nothing until then, or until the journal grows (nil).
        case wait(until: MonotonicTime?)
    }

    /// How a call ended.
    enum CallEnd: Equatable, Sendable {
        case delivered
        /// The hook wants none of these outcomes, ever (exit status 78, or 410).
        case refused(String)
        /// To be tried again.
        case failed(String, retryAfter: Duration?)
    }

    /// A call that has ended, to recognise the files that the hook itself wrote.
    private struct Call: Sendable {
        let began: WallTime
        let ended: WallTime
        let keys: Set<ContentKey>
        /// The bytes of these contents.
        let size: UInt64
        /// The most bytes that the hook can have written into one file.
        let written: UInt64
    }

    /// Rows looked at without storing the position.
    private static let mostUnstored: UInt64 = 4096
    /// So many ended calls are remembered.
    private static let mostCalls = 64
    /// A file that the hook wrote last is noticed so much later at most.
    private static let delay: Duration = .seconds(2)
    /// After so many calls, each only for files that came during the one before, calls pause. Files of others come during
    /// the pauses and end the chain.
    private static let suspiciousChain = 20
    private static let pauseOfChain: Duration = .seconds(60)
    /// After so many, the hook is taken for its own cause.
    private static let longestChain = 25

    let hook: Configuration.Hook
    /// The last row that the hook needs no more; durable.
    private(set) var cursor: UInt64
    private(set) var delivered = 0
    private(set) var givenUp = 0
    /// Failed calls in a row.
    private(set) var failures = 0
    private(set) var allFailures = 0
    private(set) var lastError: String?
    /// When the first of the present failures was.
    private(set) var failingSince: MonotonicTime?
    private(set) var nextAttempt: (monotonic: MonotonicTime, wall: WallTime)?

    /// The last row looked at.
    private var looked: UInt64
    /// The rows of the next call.
    private var pending: [JournalEntry] = []
    private var pendingSince: MonotonicTime?
    private var calls: [Call] = []
    private var began: WallTime?
    private var chain = 0
    private var backoff: Backoff

    init(_ hook: Configuration.Hook, cursor: UInt64, ceiling: Duration, seed: UInt64) {
        (self.hook, self.cursor, looked) = (hook, cursor, cursor)
        backoff = Backoff(ceiling: ceiling, seed: seed)
    }

    /// Returns how many outcomes wait, at most: of rows not looked at, the hook may want only some.
    func waiting(end: UInt64) -> Int { pending.count + Int(clamping: end > looked ? end - looked : 0) }

    /// - Parameter end: the number of the journal's last row.
    func next(end: UInt64, now: Now) -> Next {
        if let nextAttempt, now.monotonic < nextAttempt.monotonic { return .wait(until: nextAttempt.monotonic) }
        if pending.count < hook.batch, looked < end { return .read(after: looked) }
        guard let since = pendingSince, !pending.isEmpty else {
            return looked >= cursor + Self.mostUnstored ? .store(looked) : .wait(until: nil)
        }
        let isSuspicious = chain >= Self.suspiciousChain
        let due = since + (isSuspicious ? max(hook.window, Self.pauseOfChain) : hook.window)
        if pending.count < hook.batch || isSuspicious, failures == 0, now.monotonic < due { return .wait(until: due) }
        return .call(pending)
    }

    /// Takes rows that were read, in order.
    ///
    /// - Returns: outcomes of which the hook is not told because it wrote their files.
    mutating func take(_ entries: [JournalEntry], end: UInt64, now: Now) -> [JournalEntry] {
        var own: [JournalEntry] = []
        for entry in entries where pending.count < hook.batch {
            looked = max(looked, entry.number)
            guard wants(entry.row) else { continue }
            guard entry.row.time.advanced(by: hook.keep).milliseconds > now.wall.milliseconds else {
                givenUp += 1
                continue
            }
            if isOwn(entry.row) {
                own.append(entry)
                continue
            }
            if pending.isEmpty { pendingSince = now.monotonic }
            pending.append(entry)
        }
        // Numbers may be missing: damaged rows, and rows that were removed.
        if entries.isEmpty { looked = max(looked, end) }
        return own
    }

    /// A call begins.
    mutating func begin(now: Now) {
        began = now.wall
        let duringLast = calls.last.map { last in pending.allSatisfy { Self.came($0.row, during: last) } } ?? false
        chain = duringLast ? chain + 1 : 0
    }

    /// A call ended.
    ///
    /// - Parameter written: bytes that the hook's processes wrote.
    mutating func end(_ end: CallEnd, written: UInt64 = 0, now: Now) {
        note(written: written, now)
        switch end {
        case .delivered:
            delivered += pending.count
            succeed()
        case .refused(let reason):
            givenUp += pending.count
            succeed()
            lastError = reason
        case .failed(let reason, let retryAfter):
            failures += 1
            allFailures += 1
            lastError = reason
            if failingSince == nil { failingSince = now.monotonic }
            let pause = Backoff.requested(retryAfter) ?? backoff.pause(afterFailures: failures)
            nextAttempt = (now.monotonic + pause, now.wall.advanced(by: pause))
            let old = pending.prefix { $0.row.time.advanced(by: hook.keep).milliseconds <= now.wall.milliseconds }
            givenUp += old.count
            pending.removeFirst(old.count)
            if let last = old.last { cursor = last.number }
        }
    }

    /// The position is being stored.
    mutating func stored(_ number: UInt64) { cursor = max(cursor, number) }

    /// Gives up everything up to the journal's end.
    mutating func skip(to end: UInt64) {
        (cursor, looked, pending) = (end, end, [])
        (failures, failingSince, nextAttempt, lastError) = (0, nil, nil, nil)
    }

    /// The cause of the failures may be gone.
    mutating func hurry() { nextAttempt = nil }

    private mutating func succeed() {
        cursor = pending.last?.number ?? cursor
        (pending, pendingSince, failures, failingSince, nextAttempt, lastError) = ([], nil, 0, nil, nil, nil)
    }

    private func wants(_ row: JournalRow) -> Bool {
        switch row.subject {
        case .post: hook.events.contains(.post)
        case .portrait: hook.events.contains(.portrait)
        case .file, .agent: Configuration.Hook.Event(rawValue: row.outcome.word).map(hook.events.contains) ?? false
        }
    }

    // MARK: What the hook itself wrote

    private mutating func note(written: UInt64, _ now: Now) {
        guard let began else { return }
        // Its input, repeated in a log, is no file.
        let input = UInt64(pending.count) * 2048
        calls.append(
            Call(
                began: began, ended: now.wall, keys: Set(pending.compactMap(\.row.key)),
                size: pending.reduce(0) { $0 &+ ($1.row.size ?? 0) }, written: written > input ? written - input : 0))
        if calls.count > Self.mostCalls { calls.removeFirst() }
        self.began = nil
    }

    private static func came(_ row: JournalRow, during call: Call) -> Bool {
        guard let taken = row.taken?.milliseconds else { return false }
        return taken >= call.began.milliseconds && taken <= call.ended.advanced(by: delay).milliseconds
    }

    /// Whether the hook wrote this file within a call: the file came then, and is a copy of what the call was about, or has
    /// as many bytes as the hook wrote. Its outcome would call the hook for ever.
    private func isOwn(_ row: JournalRow) -> Bool {
        guard row.subject == .file, let call = calls.last(where: { Self.came(row, during: $0) }) else { return false }
        if let key = row.key, call.keys.contains(key) { return true }
        if chain >= Self.longestChain { return true }
        guard let size = row.size, size > 0 else { return false }
        // It copied its own files, perhaps to another place.
        if Self.isAbout(call.size, call.written) { return false }
        return Self.isAbout(size, call.written)
    }

    /// Whether a program that wrote `written` bytes may have written one file of `size` bytes, and a few lines of a log.
    private static func isAbout(_ size: UInt64, _ written: UInt64) -> Bool {
        size <= written && written - size <= 4096 + min(size / 16, 256 << 10)
    }
}
