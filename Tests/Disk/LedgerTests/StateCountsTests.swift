import TestSupport
import Testing
import UploadCore

@testable import Ledger

/// Counts drops by state.
struct StateCountsTests {
    private let directory: TemporaryDirectory
    private let ledger: Ledger

    init() throws {
        directory = try TemporaryDirectory()
        ledger = try openLedger(directory.path("ledger"))
    }

    private func drop(_ name: String, _ state: FileState) throws -> DropRecord {
        fullDrop(try path(name), state: state)
    }

    private func spoil(_ table: LedgerTable, _ key: [UInt8]) throws {
        try ledger.environment.write { transaction throws(LMDBError) in
            try transaction.put(table.table, key, [1, 2, 3])
        }
    }

    private func slot(_ name: String) throws -> [UInt8] { DropTable().prefix(of: try path(name)) + [0] }

    @Test func aNewLedgerCountsNothing() throws {
        #expect(try ledger.counts() == [:])
        ledger.close()
        #expect(try LedgerFile(directory: directory.path("ledger")).inspect() == .sound)
    }

    @Test func everyStateHasItsOwnNumber() async throws {
        for (index, state) in FileState.allCases.enumerated() {
            let drops = try (0...index).map { try drop("\(state)/\($0)", state) }
            await ledger.commit(drops.map { .drop($0) })
        }
        let expected = FileState.allCases.enumerated().map { ($1, $0 + 1) }
        #expect(try ledger.counts() == Dictionary(uniqueKeysWithValues: expected))
    }

    @Test func aDropIsCountedOnceInItsLastState() async throws {
        await ledger.commit([.drop(try drop("a", .queued)), .drop(try drop("b", .queued))])
        await ledger.commit([.drop(try drop("a", .queued)), .drop(try drop("a", .paused)), .drop(try drop("a", .done))])
        #expect(try ledger.counts() == [.queued: 1, .done: 1])
        await ledger.commit([.forgetDrop(try path("a")), .forgetDrop(try path("a")), .forgetDrop(try path("c"))])
        #expect(try ledger.counts() == [.queued: 1])
        await ledger.commit([.forgetDrop(try path("b")), .drop(try drop("b", .failed))])
        #expect(try ledger.counts() == [.failed: 1])
    }

    @Test func aTraceCountsInNoState() async throws {
        var trace = try drop("a", .done)
        trace.disposal = .movedAway(to: try path("b"))
        var moved = try drop("b", .done)
        moved.disposal = .moved(from: try path("a"))
        await ledger.commit([.drop(trace), .drop(moved), .drop(try drop("c", .cancelled))])
        #expect(try ledger.counts() == [.done: 1, .cancelled: 1])
        #expect(try ledger.counts(besides: [path("a"), path("c"), path("d")]) == [.done: 1])
        ledger.close()
        #expect(try LedgerFile(directory: directory.path("ledger")).inspect() == .sound)
    }

    @Test func aRefusedCommitChangesNoNumber() async throws {
        let long = String(repeating: "x", count: 600)
        ledger.commit([.drop(try drop("a", .queued))]) {}
        let writes = [.drop(try drop("a", .done)), .drop(try drop("b", .done)), LedgerWrite.setting(long, [1])]
        #expect(await ledger.commit(writes) == false)
        #expect(try ledger.counts() == [.queued: 1])
    }

    @Test func aDamagedDropIsCountedAnewWhenItIsReplacedOrRemoved() async throws {
        for name in ["a", "b", "c"] { await ledger.commit([.drop(try drop(name, .queued))]) }
        try spoil(.drops, slot("a"))
        #expect(try ledger.counts() == [.queued: 3])
        await ledger.commit([.drop(try drop("c", .done)), .drop(try drop("a", .done))])
        #expect(try ledger.counts() == [.queued: 1, .done: 2])
        try spoil(.drops, slot("b"))
        await ledger.commit([.forgetDrop(try path("b"))])
        #expect(try ledger.counts() == [.done: 2])
        #expect(try ledger.statistics().damagedRecords == 0)
    }

    @Test(arguments: [[1, 2, 3], nil]) func damagedNumbersAreCountedAnew(bytes: [UInt8]?) async throws {
        await ledger.commit([.drop(try drop("a", .queued)), .drop(try drop("b", .done))])
        try ledger.environment.write { transaction throws(LMDBError) in
            if let bytes {
                try transaction.put(LedgerTable.meta.table, StateCounts.key, bytes)
            } else {
                // The finished drop is missing.
                var counts = StateCounts()
                counts[.queued] = 1
                try counts.store(in: transaction)
            }
        }
        if bytes != nil {
            #expect(try ledger.counts() == [.queued: 1, .done: 1])
            #expect(try ledger.statistics().damagedRecords == 1)
        }
        await ledger.commit([.forgetDrop(try path("b"))])
        #expect(try ledger.counts() == [.queued: 1])
        let damages = try ledger.statistics().damagedRecords
        #expect(try ledger.counts() == [.queued: 1])
        #expect(try ledger.statistics().damagedRecords == damages)
    }

    @Test func wrongNumbersAreFoundByTheInspection() async throws {
        await ledger.commit([.drop(try drop("a", .queued))])
        try ledger.environment.write { transaction throws(LMDBError) in
            var counts = StateCounts()
            counts[.done] = 1
            try counts.store(in: transaction)
        }
        ledger.close()
        let file = LedgerFile(directory: directory.path("ledger"))
        #expect(try file.inspect() == .damaged("the number of paths in each state does not match the paths"))
        let rescued = try TemporaryDirectory()
        _ = try LedgerSalvage.make(at: rescued.path("ledger.lmdb"), from: file)
        #expect(try LedgerFile(directory: rescued.path).inspect() == .sound)
        #expect(try openLedger(rescued.path).counts() == [.queued: 1])
    }

    /// Compares the numbers with a full walk over random writes, and in copies of the open file, which equal the
    /// files that a kill leaves behind.
    @Test(arguments: [1, 2, 3]) func theNumbersEqualAFullWalkAfterAnyWritesAndKills(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        for round in 0..<150 {
            var writes: [LedgerWrite] = []
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                let name = "d\(Int.random(in: 0..<4, using: &random))/\(Int.random(in: 0..<8, using: &random))"
                if Int.random(in: 0..<4, using: &random) == 0 {
                    writes.append(.forgetDrop(try path(name)))
                } else {
                    var drop = try drop(name, FileState.allCases.randomElement(using: &random) ?? .done)
                    if drop.state == .done, Bool.random(using: &random) { drop.disposal = .movedAway(to: drop.path) }
                    writes.append(.drop(drop))
                }
            }
            if round % 20 == 7 {
                try spoil(.drops, slot("d1/\(Int.random(in: 0..<8, using: &random))"))
                // Every drop that may be damaged is replaced.
                for name in 0..<8 { writes.append(.drop(try drop("d1/\(name)", .done))) }
            }
            await ledger.commit(writes)
            try check(ledger)
            if round % 50 == 49 {
                let killed = try copyOfLedger(in: directory.path("ledger"))
                #expect(try LedgerFile(directory: killed.path).inspect() == .sound)
                try check(openLedger(killed.path))
            }
        }
    }

    private func check(_ ledger: Ledger) throws {
        var drops: [DropRecord] = []
        try ledger.forEachDrop { drop in
            drops.append(drop)
            return true
        }
        #expect(try ledger.counts() == numbers(of: drops))
        let some = Set(drops.map(\.path).filter { $0.bytes.last.map { $0 % 2 == 0 } ?? false })
        #expect(try ledger.counts(besides: some) == numbers(of: drops.filter { !some.contains($0.path) }))
    }
}
