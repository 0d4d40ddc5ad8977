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
    @Test("are counted and selected like in a walk over the ledger, at each step of a random history", arguments: 1...6)
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
        let resting = RestingDrops(stage.ledger, unsaved: Unsaved(), active: active, backlog: nil)
        let reports = resting.reports(ListQuery(atMost: 2), stage.world.context)
        #expect(reports.map { "\($0.path)" }.sorted() == ["a", "c", "d"])
        #expect(resting.counts() == [.done: 3, .failed: 1])
    }
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

/// Random changes of a ledger whose commits become durable later, and of the paths under way.
private struct History {
    private let stage: ReportStage
    private var random: SeededRandom
    private var unsaved = Unsaved()
    /// Commits that the ledger does not have yet.
    private var begun: [(number: UInt64, writes: [LedgerWrite])] = []
    /// Commits that the ledger has, while the agent does not know it yet.
    private var stored: [(number: UInt64, writes: [LedgerWrite])] = []
    private var active = PathMap<DropRecord>()
    private(set) var backlog: UploadView?
    private var time: Int64 = 0

    init(seed: UInt64) throws {
        stage = try ReportStage()
        random = SeededRandom(seed: seed)
    }

    var context: ReportContext { stage.world.context }

    var resting: RestingDrops { RestingDrops(stage.ledger, unsaved: unsaved, active: active, backlog: backlog) }

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
            for commit in stored.prefix(count) { unsaved.saved(commit.writes, by: commit.number) }
            stored.removeFirst(count)
        case 8:
            let path = somePath()
            active[path] = active[path] == nil ? record(path, [.settling, .hashing, .queued, .paused]) : nil
        default:
            let states: [FileState?] = [nil, .queued, .waiting, .paused, .signedOut]
            backlog = states[Int.random(in: 0..<states.count, using: &random)].map {
                UploadView(
                    state: $0, fragmentsTotal: 1, fragmentsFinished: 0, acknowledgedBytes: 0, remoteID: nil,
                    attempts: 0, nextAttemptAt: nil, error: nil, joinedLater: false)
            }
        }
    }

    private mutating func begin(_ writes: [LedgerWrite]) {
        begun.append((unsaved.add(writes), writes))
    }

    private mutating func change() -> LedgerWrite {
        let path = somePath()
        if Int.random(in: 0..<5, using: &random) == 0 { return .forgetDrop(path) }
        return .drop(record(path, [.queued, .paused, .done, .failed, .cancelled, .rejected]))
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
