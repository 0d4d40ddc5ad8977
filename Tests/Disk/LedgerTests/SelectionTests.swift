import TestSupport
import Testing
import UploadCore

@testable import Ledger

/// Selects drops by state.
struct SelectionTests {
    private let directory: TemporaryDirectory
    private let ledger: Ledger
    private var random = SeededRandom(seed: 7)

    init() throws {
        directory = try TemporaryDirectory()
        ledger = try openLedger(directory.path("ledger"))
    }

    private mutating func fill(_ count: Int) async throws -> [DropRecord] {
        var drops: [DropRecord] = []
        for index in 0..<count {
            let state = FileState.allCases.randomElement(using: &random) ?? .done
            var drop =
                index % 3 == 0
                ? fullDrop(try path("d/\(index)"), state: state)
                : DropRecord(path: try path("\(index)"), state: state, acceptedAt: WallTime(milliseconds: 1))
            drop.finishedAt = state.isFinal ? WallTime(milliseconds: .random(in: 0..<50, using: &random)) : nil
            if index % 7 == 0 { drop.disposal = .movedAway(to: drop.path) }
            drops.append(drop)
        }
        await ledger.commit(drops.map { .drop($0) })
        return drops
    }

    @Test mutating func aSelectionHasAllDropsOfTheStates() async throws {
        let drops = try await fill(300)
        for state in FileState.allCases {
            let expected = drops.filter { [.done, state].contains($0.state) && !$0.isTrace }
            #expect(Set(try ledger.drops(in: [.done, state]).map(\.path)) == Set(expected.map(\.path)))
        }
        #expect(try ledger.drops(in: []).isEmpty)
        let some = Set(drops.prefix(100).map(\.path))
        let rest = drops.dropFirst(100).filter { $0.state == .failed && !$0.isTrace }
        #expect(Set(try ledger.drops(in: [.failed], besides: some).map(\.path)) == Set(rest.map(\.path)))
    }

    @Test(arguments: [0, 1, 5, 1000]) mutating func aLimitSelectsTheLatestOfEachState(limit: Int) async throws {
        let drops = try await fill(300).filter { !$0.isTrace }
        let found = try ledger.drops(in: Set(FileState.allCases), atMost: limit)
        for state in FileState.allCases {
            let all = drops.filter { $0.state == state }.compactMap { $0.finishedAt?.milliseconds ?? 0 }
            let ends = found.filter { $0.state == state }.map { $0.finishedAt?.milliseconds ?? 0 }
            #expect(ends.sorted(by: >) == Array(all.sorted(by: >).prefix(limit)), "\(state)")
        }
    }

    @Test(arguments: [1, 7, 1000]) mutating func pagesHaveEachDropOnceInTheirOrder(count: Int) async throws {
        let drops = try await fill(300)
        let left = Set(drops.prefix(20).map(\.path))
        let matching = drops.filter { !$0.isTrace && !left.contains($0.path) && $0.path.bytes.contains(0x31) }
        let wanted: Set<FileState> = [.done, .failed, .queued]
        let expected = matching.filter { wanted.contains($0.state) }.sorted { DropPlace($0) < DropPlace($1) }
        var found: [RelativePath] = []
        var place: DropPlace?
        repeat {
            let page = try ledger.dropPage(in: wanted, after: place, atMost: count, besides: left) { path in
                path.contains(0x31)
            }
            #expect(page.counts == Dictionary(grouping: matching, by: \.state).mapValues(\.count))
            #expect(page.drops.count <= count)
            found += page.drops.map(\.path)
            place = page.drops.last.map { DropPlace($0) }
        } while place != nil
        #expect(found == expected.map(\.path))
        #expect(found.count > 20)
    }

    @Test mutating func aDamagedDropIsLeftOut() async throws {
        await ledger.commit([.drop(fullDrop(try path("a"))), .drop(fullDrop(try path("b")))])
        let slot = DropTable().prefix(of: try path("a")) + [0]
        try ledger.environment.write { transaction throws(LMDBError) in
            var bytes = try transaction.reading.get(LedgerTable.drops.table, slot) { Array($0) } ?? []
            bytes[bytes.count - 1] ^= 1
            try transaction.put(LedgerTable.drops.table, slot, bytes)
        }
        #expect(try ledger.drops(in: [.done]).map(\.path) == [path("b")])
        #expect(try ledger.statistics().damagedRecords == 1)
    }
}
