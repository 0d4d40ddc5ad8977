import UploadCore

/// The paths that ended last, by final state, so that `status` need not search a million records for them.
///
/// The paths are candidates: any of them may have changed since. After a walk over the ledger, each path in a final
/// state is a candidate, or ended no later than `bar`.
struct LatestOutcomes: Sendable {
    /// The result of a walk over the ledger.
    struct Walk: Sendable {
        /// The paths that ended last, of each walked state.
        fileprivate let found: [FileState: [DropRecord]]
        /// The maximum number of paths of each state. Fewer are all that the ledger has.
        fileprivate let limit: Int
        /// The number of changes that the candidates had missed before the walk.
        fileprivate let missed: Int

        init(_ found: [FileState: [DropRecord]], atMost limit: Int, before latest: LatestOutcomes) {
            (self.found, self.limit) = (found, limit)
            missed = latest.missed
        }
    }

    private struct Candidates {
        /// The latest end of each path, in milliseconds since 1970.
        var ends: [RelativePath: Int64] = [:]
        /// All candidates ended at this time or later.
        var bar = Int64.min
        var isWalked = false

        /// Adds a candidate, and removes the earliest if there are twice as many as necessary.
        ///
        /// - Returns: whether a path is missed: this one or another.
        mutating func add(_ record: DropRecord, capacity: Int) -> Bool {
            let end = LatestOutcomes.end(of: record)
            if end < bar { return true }
            ends[record.path] = max(end, ends[record.path] ?? .min)
            if ends.count / 2 < capacity { return false }
            let ordered = ends.sorted { $0.value > $1.value }
            bar = ordered[capacity].value
            for (path, _) in ordered[capacity...] { ends[path] = nil }
            return true
        }
    }

    /// The number of paths of each state that are certainly candidates.
    let capacity: Int
    private var states: [FileState: Candidates] = [:]
    /// How often a path was no candidate, or no longer.
    private var missed = 0

    init(capacity: Int = 1500) { self.capacity = capacity }

    /// Adds a path that ended. Ignores other paths.
    mutating func note(_ record: DropRecord) {
        guard record.state.isFinal, !record.isTrace else { return }
        if states[record.state, default: Candidates()].add(record, capacity: capacity) { missed += 1 }
    }

    /// Adds what a walk found. Ignores the walk if paths were missed since it began.
    mutating func add(_ walk: Walk) {
        guard walk.missed == missed else { return }
        for (state, records) in walk.found {
            var candidates = states[state] ?? Candidates()
            let ends = records.map(Self.end(of:))
            candidates.bar = records.count < walk.limit ? .min : ends.min() ?? .min
            candidates.isWalked = true
            for record in records where candidates.add(record, capacity: capacity) { missed += 1 }
            states[state] = candidates
        }
    }

    /// Returns the candidates of a final state, each once; `nil` if a walk must come first.
    func paths(in state: FileState) -> Set<RelativePath>? {
        guard let candidates = states[state], candidates.isWalked else { return nil }
        return Set(candidates.ends.keys)
    }

    private static func end(of record: DropRecord) -> Int64 { record.finishedAt?.milliseconds ?? .min }
}
