import Reports
import UploadCore

/// Decides which sidecar is written when. Holds the newest order of each file or source until its turn.
///
/// - Final states and removals are due at once.
/// - Another state is due once it has lasted for ``brief``, and not sooner than ``interval`` after the last write. So a
///   file that ends at once gets one write. The first sidecars on an idle agent are due at once.
/// - The states before an upload, and the upload of a file of one fragment, get a bounded share of all writes, and less
///   while files reach final states: soon most of these files have ended too.
/// - What can't be written is tried again after everything else, so that one read-only directory holds nothing else up.
struct SidecarQueue: Sendable {
    /// A state that lasts shorter is not written.
    static let brief = Duration.milliseconds(250)
    /// A changed sidecar is due after this time, however often its state changes.
    static let patience = Duration.seconds(1)
    /// Minimum time between two writes that are not final.
    static let interval = Duration.milliseconds(500)
    /// Delay before a failed write is retried.
    static let retry = Duration.seconds(3)
    /// Due times are multiples of this, so that one wake-up serves several sidecars.
    static let slot = Duration.milliseconds(50)

    /// How many first sidecars are due at once on an idle agent, and the time after which one more is.
    static let mostAtOnce = 32
    static let recovery = Duration.milliseconds(100)

    /// How many sidecars in line are written per `share`, and how many while files end.
    static let mostPerShare = 100
    static let mostPerRush = 10
    static let share = Duration.milliseconds(100)
    /// When so many files arrive together, the first of them end within `opening`: until then, few sidecars in line are
    /// written, as while files end.
    static let burst = 1_000
    static let opening = Duration.seconds(2)

    /// With more entries, sidecars in line are due and forgotten at once, so that memory stays bounded. Repairs and
    /// failed writes do not count.
    static let mostEntries = 10_000
    /// With more entries, written sidecars are forgotten after ``interval``. A repeated report is then written again.
    static let mostRemembered = 1_000

    /// An order whose turn has come.
    struct Job: Sendable {
        let subject: SidecarSubject
        let order: SidecarOrder
        /// Digest of the sidecar's present text, if known.
        let written: Int?
        /// Whether this agent wrote the sidecar before.
        let replaces: Bool
    }

    /// The ranks, the most urgent first.
    private enum Rank: Int, CaseIterable {
        /// Final states, removals, and the first sidecars on an idle agent.
        case inTurn
        /// All other states.
        case paced
        /// States that soon give way to a final one. In a rush, these are by far the most.
        case inLine
        /// Failed writes.
        case again
        /// Repairs.
        case check
    }

    private struct Entry {
        /// The newest order; nil while nothing waits.
        var order: SidecarOrder?
        var rank = Rank.inTurn
        /// The slot in which the order is due, or a remembered entry is forgotten.
        var due = MonotonicTime.never
        /// The latest due time of the waiting report.
        var latest = MonotonicTime.never
        /// The earliest time of the next write that is not final.
        var earliest = MonotonicTime(nanoseconds: 0)
        /// The state that the sidecar shows, if known. While a final state lasts, changes of a source's other members
        /// are paced like all others.
        var shown: SourceState?
        /// Digest of the sidecar's text, if known.
        var written: Int?
        /// Whether the last order is being carried out.
        var isInHand = false

        /// Whether the entry is not one of those that `mostEntries` bounds.
        var isExtra: Bool { order != nil && (rank == .again || rank == .check) }
    }

    private var entries: [SidecarSubject: Entry] = [:]
    private var extraCount = 0
    private var slots = [DueSlots](repeating: DueSlots(), count: Rank.allCases.count)
    /// How many first sidecars are due at once, and since when that number holds.
    private var credit = (count: mostAtOnce, since: MonotonicTime(nanoseconds: 0))
    /// When the rush ends unless another file reaches a final state.
    private var rushEnd = MonotonicTime(nanoseconds: 0)
    /// From when sidecars in line may be written, and how many of the present share have been.
    private var share = (from: MonotonicTime(nanoseconds: 0), count: 0)
    private var stalledUntil = MonotonicTime(nanoseconds: 0)

    /// Whether no order waits.
    var isAtRest: Bool { entries.values.allSatisfy { $0.order == nil } }

    /// The number of files and sources in memory.
    var count: Int { entries.count }

    // MARK: Orders

    /// Adds an order. It replaces an older order for the same file or source that has not begun.
    mutating func add(_ order: SidecarOrder, for subject: SidecarSubject, now: MonotonicTime) {
        let isNew = entries[subject] == nil
        var entry = entries[subject] ?? Entry()
        let former = entry.order
        switch (order, former) {
        case (.discard, .write), (.repair, .write): return
        default: break
        }
        entry.order = order
        defer { store(entry, for: subject) }
        if isNew, entries.count == Self.burst { rushEnd = max(rushEnd, now + Self.opening) }
        // A newer order keeps the turn of an older one.
        if former != nil, entry.rank == .inTurn { return }
        switch order {
        case .remove, .discard: schedule(subject, &entry, .inTurn, at: now.slot)
        case .repair: schedule(subject, &entry, .check, at: now.slot)
        case .write(let sidecar):
            let state = sidecar.state
            if state.isFinal && entry.shown != state || isNew && takeCredit(now) {
                return schedule(subject, &entry, .inTurn, at: now.slot)
            }
            let waiting: SourceState? = if case .write(let older) = former { older.state } else { nil }
            if waiting == nil { entry.latest = now + Self.patience }
            let rank = sidecar.passesSoon ? Rank.inLine : .paced
            if waiting == state, entry.rank == rank { return }
            let isLasting = waiting == nil && entry.shown == state
            let due = isLasting ? now : min(now + Self.brief, entry.latest)
            schedule(subject, &entry, rank, at: max(due, entry.earliest).nextSlot)
        }
    }

    private mutating func schedule(
        _ subject: SidecarSubject, _ entry: inout Entry, _ rank: Rank, at due: MonotonicTime
    ) {
        entry.rank = rank
        entry.due = due
        slots[rank.rawValue].insert(subject, at: due)
    }

    private mutating func takeCredit(_ now: MonotonicTime) -> Bool {
        let regained = now.nanoseconds.subtractingReportingOverflow(credit.since.nanoseconds)
        let count = regained.overflow ? 0 : regained.partialValue / UInt64(Self.recovery.wholeNanoseconds)
        if credit.count + Int(clamping: count) >= Self.mostAtOnce {
            credit = (Self.mostAtOnce, now)
        } else {
            credit = (credit.count + Int(count), credit.since + Self.recovery * Int(count))
        }
        guard credit.count > 0 else { return false }
        credit.count -= 1
        return true
    }

    // MARK: Turns

    /// When the next order is due; `nil` if none waits. May be too early, never too late.
    var nextDeadline: MonotonicTime? {
        var next: MonotonicTime?
        for rank in Rank.allCases {
            guard let first = slots[rank.rawValue].first else { continue }
            let time = max(first, opening(of: rank))
            next = min(time, next ?? time)
        }
        return next
    }

    /// From when orders of a rank may be carried out.
    private func opening(of rank: Rank) -> MonotonicTime {
        switch rank {
        case .inTurn, .paced, .check: MonotonicTime(nanoseconds: 0)
        case .inLine: isFull ? MonotonicTime(nanoseconds: 0) : share.from
        case .again: stalledUntil
        }
    }

    private var isFull: Bool { entries.count - extraCount > Self.mostEntries }

    /// Removes and returns the next order that is due.
    mutating func next(now: MonotonicTime) -> Job? {
        for rank in Rank.allCases where opening(of: rank) <= now {
            let limit = rank == .inLine && isFull ? MonotonicTime.never : now
            guard let job = pop(rank, until: limit) else { continue }
            if rank == .inLine { useShare(now) }
            if case .write(let sidecar) = job.order, sidecar.state.isFinal { rushEnd = max(rushEnd, now + Self.brief) }
            return job
        }
        return nil
    }

    /// Removes and returns all orders, the most urgent first.
    mutating func takeAll() -> [Job] {
        var jobs: [Job] = []
        for rank in Rank.allCases {
            while let job = pop(rank, until: .never) { jobs.append(job) }
        }
        return jobs
    }

    private mutating func useShare(_ now: MonotonicTime) {
        share.count += 1
        if share.count >= (now < rushEnd ? Self.mostPerRush : Self.mostPerShare) { share = (now + Self.share, 0) }
    }

    private mutating func pop(_ rank: Rank, until limit: MonotonicTime) -> Job? {
        while let (subject, time) = slots[rank.rawValue].popFirst(until: limit) {
            // The order may have been scheduled anew since.
            guard var entry = entries[subject], entry.due == time, entry.rank == rank else { continue }
            guard let order = entry.order else {
                if !entry.isInHand { store(nil, for: subject) }
                continue
            }
            let job = Job(
                subject: subject, order: order, written: entry.written, replaces: entry.shown != nil)
            switch order {
            case .remove, .discard: store(nil, for: subject)
            case .write, .repair:
                entry.order = nil
                entry.due = .never
                entry.isInHand = true
                store(entry, for: subject)
            }
            return job
        }
        return nil
    }

    // MARK: Outcomes

    /// Records that a sidecar shows a report.
    ///
    /// - Parameter digest: digest of the sidecar's text, if known.
    mutating func wrote(_ sidecar: Sidecar, digest: Int?, now: MonotonicTime) {
        let subject = sidecar.subject
        guard var entry = entries[subject], entry.isInHand else { return }
        entry.isInHand = false
        // Finished files are numerous, so nothing of them stays in memory.
        if case .file = sidecar, sidecar.state.isFinal {
            entry.shown = nil
            entry.written = nil
            return store(entry.order == nil ? nil : entry, for: subject)
        }
        entry.shown = sidecar.state
        entry.written = digest
        entry.earliest = now + Self.interval
        delay(subject, &entry)
        if entry.order == nil, isFull { return store(nil, for: subject) }
        if entry.order == nil, entries.count > Self.mostRemembered {
            schedule(subject, &entry, .paced, at: entry.earliest.nextSlot)
        }
        store(entry, for: subject)
    }

    /// Records a failed write. The sidecar is due again after a delay, unless a newer order has arrived.
    mutating func failed(_ sidecar: Sidecar, now: MonotonicTime) {
        let subject = sidecar.subject
        guard var entry = entries[subject], entry.isInHand else { return }
        entry.isInHand = false
        entry.earliest = now + Self.retry
        if entry.order == nil {
            entry.order = .write(sidecar)
            schedule(subject, &entry, .again, at: entry.earliest.nextSlot)
        } else {
            delay(subject, &entry)
        }
        store(entry, for: subject)
    }

    /// Delays a report that arrived during the last write.
    private mutating func delay(_ subject: SidecarSubject, _ entry: inout Entry) {
        guard entry.order != nil, entry.rank == .paced || entry.rank == .inLine, entry.due < entry.earliest else {
            return
        }
        schedule(subject, &entry, entry.rank, at: entry.earliest.nextSlot)
    }

    private mutating func store(_ entry: Entry?, for subject: SidecarSubject) {
        if entries[subject]?.isExtra == true { extraCount -= 1 }
        if entry?.isExtra == true { extraCount += 1 }
        entries[subject] = entry
        entries.shrinkIfEmpty()
    }

    /// Holds failed writes back for a while, because the last ones failed again.
    mutating func stall(now: MonotonicTime) { stalledUntil = now + Self.retry }
}

extension Sidecar {
    /// Whether a file waits for its upload, or uploads a single fragment.
    fileprivate var passesSoon: Bool {
        guard case .file(let report) = self else { return false }
        switch report.state {
        case .settling, .hashing, .queued: return true
        case .uploading, .verifying: return report.fragments?.total == 1
        default: return false
        }
    }
}

extension MonotonicTime {
    fileprivate static let never = MonotonicTime(nanoseconds: .max)
    private static let slot = UInt64(SidecarQueue.slot.wholeNanoseconds)

    /// The slot of this time.
    fileprivate var slot: MonotonicTime { MonotonicTime(nanoseconds: nanoseconds - nanoseconds % Self.slot) }

    /// The first slot that begins no earlier than this time.
    fileprivate var nextSlot: MonotonicTime {
        slot == self ? self : slot + SidecarQueue.slot
    }
}

/// Subjects by the time when they are due. The caller rounds the times, so that subjects of almost the same time share
/// a slot and a wake-up.
struct DueSlots: Sendable {
    private var slots: [MonotonicTime: [SidecarSubject]] = [:]
    /// The earliest time.
    private(set) var first: MonotonicTime?

    mutating func insert(_ subject: SidecarSubject, at time: MonotonicTime) {
        slots[time, default: []].append(subject)
        first = first.map { min($0, time) } ?? time
    }

    /// Removes and returns a subject of the earliest slot, if its time has come.
    mutating func popFirst(until now: MonotonicTime) -> (subject: SidecarSubject, time: MonotonicTime)? {
        guard let first, first <= now, let subject = slots[first]?.popLast() else { return nil }
        if slots[first]?.isEmpty == true {
            slots[first] = nil
            self.first = slots.keys.min()
        }
        return (subject, first)
    }
}
