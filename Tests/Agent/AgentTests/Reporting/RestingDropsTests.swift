import AgentTestSupport
import ControlAPI
import Ledger
import Reports
import TestSupport
import Testing

@testable import Agent
@testable import UploadCore

@Suite("Resting paths")
struct RestingDropsTests {
    @Test(
        "are counted and selected like in a walk over the ledger, at each step of a random history",
        arguments: [1, 2, 3, 4, 6, 7])
    func history(seed: UInt64) async throws {
        var history = try History(seed: seed)
        for step in 0..<150 {
            await history.step()
            let resting = history.resting
            #expect(resting.counts() == resting.walkedCounts(history.backlog), "seed \(seed), step \(step)")
            let states = history.someStates()
            let reports = resting.reports(ListQuery(states: states), history.context)
            #expect(
                Dictionary(grouping: reports, by: \.state).mapValues(\.count)
                    == resting.walkedCounts(history.backlog).filter { states.contains($0.key) },
                "seed \(seed), step \(step)")
            let limit = step % 4
            let found = resting.reports(ListQuery(states: states, atMost: limit), history.context)
            for state in states {
                let all = reports.filter { $0.state == state }
                let some = found.filter { $0.state == state }
                let message: Comment = "seed \(seed), step \(step), \(limit) of \(state)"
                if state.isFinal {
                    #expect(some.ends.prefix(limit) == all.ends.prefix(limit), message)
                } else {
                    #expect(some.count >= min(limit, all.count), message)
                }
            }
        }
    }

    @Test("are limited to the latest of each final state")
    func limit() async throws {
        let stage = try ReportStage()
        let ends: [(String, FileState, Int64)] = [
            ("a", .done, 3), ("b", .done, 1), ("c", .done, 2), ("d", .failed, 1), ("e", .done, 4), ("f", .queued, 0),
        ]
        await stage.ledger.commit(
            try ends.map { name, state, end in
                var record = try stage.record(name, state)
                if state.isFinal { record.finishedAt = WallTime(milliseconds: end) }
                return .drop(record)
            })
        var active = PathMap<DropRecord>()
        let record = try stage.record("e", .settling)
        active[record.path] = record
        let resting = Pending().resting(stage, active)
        let reports = resting.reports(ListQuery(atMost: 2), stage.world.context)
        #expect(Set(reports.map { "\($0.path)" }).isSuperset(of: ["a", "c", "d"]))
        #expect(resting.counts() == [.done: 3, .failed: 1])
    }

    @Test("of the backlog are read only as many as the limit, besides those under way")
    func limitedBacklog() async throws {
        let stage = try ReportStage()
        let records = try (0..<9).map { try stage.record("\($0)", .queued) }
        await stage.ledger.commit(records.map { .drop($0) })
        var active = PathMap<DropRecord>()
        for record in records.prefix(4) { active[record.path] = record }
        let backlog = UploadView(
            state: .queued, fragments: FragmentProgress(FragmentPlan(size: 1), acknowledged: FragmentSet(), bytes: 0),
            acknowledgedBytes: 0, remoteID: nil, attempts: 0,
            nextAttemptAt: nil, error: nil, joinedLater: false)
        let resting = Pending().resting(stage, active, backlog)
        let reports = resting.reports(ListQuery(atMost: 2), stage.world.context)
        #expect(reports.count == 2 && Set(records[4...].map(\.path)).isSuperset(of: reports.map(\.path)))
        #expect(resting.counts() == [.queued: 5])
    }
}

extension [FileReport] {
    /// When the files ended, in milliseconds since 1970, the latest first.
    fileprivate var ends: [Int64] { compactMap { $0.finishedAt?.milliseconds }.sorted(by: >) }
}

extension RestingDrops {
    /// Counts the paths by reading each of them.
    func walkedCounts(_ backlog: UploadView?) -> [FileState: Int] {
        var counts: [FileState: Int] = [:]
        forEach { record in
            let state = record.state.isFinal ? record.state : backlog?.state ?? record.state
            counts[state, default: 0] += 1
        }
        return counts
    }
}

/// Changes that are not durable yet.
private struct Pending {
    var unsaved = Unsaved()

    /// Begins a commit with these changes.
    ///
    /// - Returns: the number of the commit.
    mutating func add(_ writes: [LedgerWrite]) -> UInt64 {
        let commit = unsaved.begin()
        unsaved.add(writes, to: commit)
        return commit
    }

    func resting(
        _ stage: ReportStage, _ active: PathMap<DropRecord> = PathMap(), _ backlog: UploadView? = nil
    ) -> RestingDrops {
        RestingDrops(stage.ledger, unsaved: unsaved, active: active, backlog: backlog)
    }
}

/// Random changes of a ledger whose commits become durable later, and of the paths under way.
private struct History {
    private let stage: ReportStage
    private var random: SeededRandom
    private let seed: UInt64
    private var changes = Pending()
    /// Commits that the ledger does not have yet.
    private var begun: [(number: UInt64, writes: [LedgerWrite])] = []
    /// Commits that the ledger has, while the agent does not know it yet.
    private var stored: [(number: UInt64, writes: [LedgerWrite])] = []
    private var active = PathMap<DropRecord>()
    private(set) var backlog: UploadView?
    private var time: Int64 = 0
    /// The outcomes until this time have their rows.
    private var told: Int64 = 0
    private var past: [DropRecord] = []

    init(seed: UInt64) throws {
        stage = try ReportStage()
        random = SeededRandom(seed: seed)
        self.seed = seed
    }

    var context: ReportContext { stage.world.context }

    var resting: RestingDrops { changes.resting(stage, active, backlog) }

    mutating func someStates() -> Set<FileState> {
        Set(FileState.allCases.filter { _ in Bool.random(using: &random) })
    }

    mutating func step() async {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<4: begin((0..<Int.random(in: 1...4, using: &random)).map { _ in change() })
        case 4, 5:
            let count = Int.random(in: 0...begun.count, using: &random)
            for commit in begun.prefix(count) { await stage.ledger.commit(commit.writes) }
            stored += begun.prefix(count)
            begun.removeFirst(count)
        case 6, 7:
            let count = Int.random(in: 0...stored.count, using: &random)
            for commit in stored.prefix(count) { changes.unsaved.saved(commit.writes, by: commit.number) }
            stored.removeFirst(count)
        case 8:
            let path = somePath()
            active[path] = active[path] == nil ? record(path, [.settling, .hashing, .queued, .paused]) : nil
        default:
            let states: [FileState?] = [nil, .queued, .waiting, .paused, .signedOut]
            backlog = states[Int.random(in: 0..<states.count, using: &random)].map {
                UploadView(
                    state: $0,
                    fragments: FragmentProgress(FragmentPlan(size: 1), acknowledged: FragmentSet(), bytes: 0),
                    acknowledgedBytes: 0, remoteID: nil,
                    attempts: 0, nextAttemptAt: nil, error: nil, joinedLater: false)
            }
        }
    }

    /// Begins a commit. With some seeds, the journal lacks the rows of some outcomes, as after an update.
    private mutating func begin(_ writes: [LedgerWrite]) {
        let rows = writes.compactMap { write -> LedgerWrite? in
            guard case .drop(let record) = write, let end = record.finishedAt?.milliseconds, end > told,
                !(seed % 2 == 1 && end % 3 == 0)
            else { return nil }
            return JournalRow(record, isPortrait: false).map { .outcome(JournalEntry(number: 0, row: $0)) }
        }
        told = time
        begun.append((changes.add(writes), writes + rows))
    }

    private mutating func change() -> LedgerWrite {
        let path = somePath()
        if Int.random(in: 0..<5, using: &random) == 0 { return .forgetDrop(path) }
        // Some records return as they were, for example after an examination.
        if Int.random(in: 0..<4, using: &random) == 0, let old = past.randomElement(using: &random) {
            return .drop(old)
        }
        let record = record(path, [.queued, .paused, .done, .done, .failed, .cancelled, .rejected])
        past.append(record)
        return .drop(record)
    }

    private mutating func somePath() -> RelativePath {
        let name =
            "\(["", "post/", "deep/er/"][Int.random(in: 0..<3, using: &random)])\(Int.random(in: 0..<5, using: &random))"
        return RelativePath(name) ?? .root
    }

    private mutating func record(_ path: RelativePath, _ states: [FileState]) -> DropRecord {
        let state = states[Int.random(in: 0..<states.count, using: &random)]
        var record = DropRecord(path: path, state: state, acceptedAt: WallTime(milliseconds: time))
        time += 1
        record.account = ["ben", "anna", nil][Int.random(in: 0..<3, using: &random)]
        if state != .settling, state != .hashing {
            record.key = ContentKey(high: 1, low: .random(in: 0..<3, using: &random))
        }
        guard state.isFinal else { return record }
        record.finishedAt = WallTime(milliseconds: time)
        if state != .done { record.error = FileError(code: "code", message: "message", retryable: false) }
        let disposals: [Disposal?] = [nil, .pending, .moved(from: path), .movedAway(to: path), .deleted]
        record.disposal = disposals[Int.random(in: 0..<disposals.count, using: &random)]
        return record
    }
}
