import TestSupport
import Testing
import UploadCore

@testable import Ledger

/// Reads the drops that the agent must know from its start.
struct StartIndexTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func needed(_ ledger: Ledger) throws -> Set<RelativePath> {
        var paths: Set<RelativePath> = []
        try ledger.forEachDropNeededAtStart { paths.insert($0.path).inserted }
        return paths
    }

    private func drop(_ name: String, _ state: FileState) throws -> DropRecord {
        var drop = DropRecord(path: try path(name), state: state, acceptedAt: WallTime(milliseconds: 1))
        drop.key = sampleKey
        return drop
    }

    @Test func plainQueuedAndEndedPathsAreNotNeeded() throws {
        for state in [FileState.queued, .done, .failed, .rejected, .cancelled] {
            #expect(try !drop("a", state).isNeededAtStart, "\(state)")
        }
        var removed = try drop("a", .cancelled)
        removed.error = FileError(code: "removed", message: "", retryable: false)
        #expect(!removed.isNeededAtStart)
    }

    @Test func pathsWithAWishWithoutOwnerOrWithoutContentAreNeeded() throws {
        var cancelled = try drop("a", .cancelled)
        cancelled.error = FileError(code: "cancelled", message: "", retryable: false)
        var nobodys = try drop("a", .queued)
        nobodys.account = ""
        var first = try drop("a", .queued)
        first.flags = .first
        var unknown = try drop("a", .queued)
        unknown.key = nil
        var verifying = try drop("a", .queued)
        verifying.flags = .verifying
        for drop in [cancelled, nobodys, first, unknown, verifying, try drop("a", .paused), try drop("a", .settling)] {
            #expect(drop.isNeededAtStart, "\(drop)")
        }
    }

    @Test(arguments: [1, 2]) func theIndexFollowsEveryChange(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        var ledger = try openLedger(directory.path("ledger"))
        var expected: [RelativePath: DropRecord] = [:]
        for round in 0..<40 {
            var writes: [LedgerWrite] = []
            for _ in 0..<60 {
                let name = "d\(Int.random(in: 0..<5, using: &random))/\(Int.random(in: 0..<300, using: &random))"
                if Int.random(in: 0..<4, using: &random) == 0 {
                    expected[try path(name)] = nil
                    writes.append(.forgetDrop(try path(name)))
                } else {
                    let states: [FileState] = [.queued, .done, .paused, .settling, .cancelled]
                    var record = try drop(name, states[Int.random(in: 0..<5, using: &random)])
                    if Bool.random(using: &random) { record.flags = .fileIsGone }
                    expected[record.path] = record
                    writes.append(.drop(record))
                }
            }
            await ledger.commit(writes)
            #expect(try needed(ledger) == Set(expected.values.filter(\.isNeededAtStart).map(\.path)))
            #expect(try ledger.dropCount() == expected.count)
            if round == 20 {
                ledger.close()
                #expect(try LedgerFile(directory: directory.path("ledger")).inspect() == .sound)
                ledger = try openLedger(directory.path("ledger"))
            }
        }
        ledger.close()
        #expect(try LedgerFile(directory: directory.path("ledger")).inspect() == .sound)
    }

    @Test func moreThanAPageIsRead() async throws {
        let ledger = try openLedger(directory.path("ledger"))
        let drops = try (0..<1300).map { try drop("\($0)", $0.isMultiple(of: 2) ? .paused : .done) }
        await ledger.commit(drops.map { .drop($0) })
        #expect(try needed(ledger).count == 650)
    }

    @Test func pagesOfAllDropsMeetEachDropOnce() async throws {
        let ledger = try openLedger(directory.path("ledger"))
        let drops = try (0..<1300).map { try drop("\($0)", .done) }
        await ledger.commit(drops.map { .drop($0) })
        var found: [DropRecord] = []
        var next: DropPosition? = .first
        while let position = next {
            let page = try ledger.drops(from: position)
            found += page.drops
            next = page.next
        }
        #expect(found.count == 1300)
        #expect(Set(found.map(\.path)) == Set(drops.map(\.path)))
    }

    @Test func anEntryWithoutItsDropIsFoundByAnInspection() async throws {
        let ledger = try openLedger(directory.path("ledger"))
        await ledger.commit([.drop(try drop("a", .paused))])
        ledger.close()
        let environment = try Environment(
            path: directory.path("ledger/ledger.lmdb"), tables: LedgerTable.allCases.map(\.rawValue),
            mapSize: 64 << 20)
        let slot = DropTable().prefix(of: try path("a")) + [0]
        _ = try environment.write { transaction throws(LMDBError) in
            try transaction.remove(LedgerTable.start.table, slot)
        }
        environment.close()
        guard case .damaged = try LedgerFile(directory: directory.path("ledger")).inspect() else {
            Issue.record("the inspection found no damage")
            return
        }
    }
}
