import Foundation
import Logging
import TestSupport
import Testing
import UploadCore

@testable import Ledger

/// Looks up drops by directory.
struct DirectoryIndexTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func paths(in ledger: Ledger, within place: RelativePath) throws -> [RelativePath] {
        var found: [RelativePath] = []
        try ledger.forEachDrop(within: place) { drop in
            found.append(drop.path)
            return true
        }
        return found.sorted()
    }

    private func open(_ drops: DropTable) throws -> Ledger {
        try Ledger(
            directory: directory.path("ledger"), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            mapSize: 64 << 20, drops: drops, onTrouble: { _ in })
    }

    /// With few distinct bytes, hashes collide and directories occupy each other's slots.
    @Test(arguments: [8, 1, 0]) func aDirectoryHoldsJustWhatWasStoredBelowIt(distinctBytes: Int) async throws {
        let ledger = try open(
            DropTable(hash: { bytes in
                // Each distinct byte has one of four values.
                let four: UInt64 = 0x0303_0303_0303_0303 & ~(.max >> UInt64(distinctBytes * 8))
                return LedgerKeys.hash(bytes) & (distinctBytes == 8 ? .max : four)
            }))
        var random = SeededRandom(seed: 11)
        var stored: Set<RelativePath> = []
        let names = ["a", "b", "ab", "c"]
        func anyPath() throws -> RelativePath {
            let depth = Int.random(in: 1...4, using: &random)
            return try path((0..<depth).map { _ in names.randomElement(using: &random) ?? "a" }.joined(separator: "/"))
        }
        for _ in 0..<100 {
            var writes: [LedgerWrite] = []
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                let place = try anyPath()
                if Bool.random(using: &random) {
                    writes.append(.drop(fullDrop(place)))
                    stored.insert(place)
                } else {
                    writes.append(.forgetDrop(place))
                    stored.remove(place)
                }
            }
            await ledger.commit(writes)
            for place in try [anyPath(), anyPath(), .root] {
                #expect(try paths(in: ledger, within: place) == stored.filter { $0.isWithin(place) }.sorted())
            }
        }
        await ledger.commit(stored.map { .forgetDrop($0) })
        if distinctBytes == 8 { #expect(try ledger.statistics().entries[.directories] == 0) }
    }

    @Test func aDirectoryWithManyDropsIsReadToItsEnd() async throws {
        let ledger = try open(DropTable())
        let all = try (0..<2000).map { try path("d/\($0 % 700 == 0 ? "e/" : "")\($0)") }
        await ledger.commit(all.map { .drop(fullDrop($0)) })
        #expect(try paths(in: ledger, within: path("d")) == all.sorted())
    }

    @Test func aQuestionAboutADirectoryReadsNothingElse() async throws {
        let ledger = try open(DropTable())
        await ledger.commit(try (0..<3000).map { .drop(fullDrop(try path("known/\($0)"))) })
        await ledger.commit([.drop(fullDrop(try path("other/x")))])
        // Damages all other drops. Reading any of these counts a damaged record.
        let name = DropTable().prefix(of: try path("other/x"))
        try ledger.environment.write { transaction throws(LMDBError) in
            for slot in try transaction.reading.keys(LedgerTable.drops.table, prefix: []) {
                if !slot.starts(with: name) { try transaction.put(LedgerTable.drops.table, slot, [1, 2, 3]) }
            }
        }
        #expect(try paths(in: ledger, within: path("empty")) == [])
        #expect(try paths(in: ledger, within: path("other")) == [path("other/x")])
        #expect(try ledger.statistics().damagedRecords == 0)
        #expect(try paths(in: ledger, within: path("known")) == [])
        #expect(try ledger.statistics().damagedRecords == 3000)
    }

    @Test func aRecordThatReplacesADamagedOneIsFound() async throws {
        let ledger = try open(DropTable())
        let place = try path("a/b")
        await ledger.commit([.drop(fullDrop(place))])
        try ledger.environment.write { transaction throws(LMDBError) in
            try transaction.put(LedgerTable.drops.table, DropTable().prefix(of: place) + [0], [1, 2, 3])
        }
        await ledger.commit([.drop(fullDrop(place))])
        #expect(try paths(in: ledger, within: path("a")) == [place])
    }

    @Test func aSavedLedgerHasTheIndexToo() async throws {
        let ledger = try open(DropTable())
        let place = try path("a/b/c")
        await ledger.commit([.drop(fullDrop(place))])
        ledger.close()
        try FileManager.default.createDirectory(atPath: directory.path("saved"), withIntermediateDirectories: false)
        _ = try LedgerSalvage.make(
            at: directory.path("saved/ledger.lmdb"), from: LedgerFile(directory: directory.path("ledger")))
        let saved = try openLedger(directory.path("saved"))
        #expect(try paths(in: saved, within: path("a")) == [place])
    }

    @Test func aFlippedBitInAnEntryIsFound() async throws {
        let ledger = try open(DropTable())
        await ledger.commit([.drop(fullDrop(try path("a/b/c")))])
        ledger.close()
        #expect(try LedgerFile(directory: directory.path("ledger")).inspect() == .sound)
        let file = directory.path("ledger/ledger.lmdb")
        var data = try Data(contentsOf: URL(fileURLWithPath: file))
        let key = Data(
            LedgerKeys.hashed(LedgerKeys.hash([UInt8]("a".utf8)[...]), LedgerKeys.hash([UInt8]("a/b".utf8)[...])))
        var flips = 0
        while let range = data.range(of: key) {
            data[range.upperBound - 1] ^= 1
            flips += 1
        }
        #expect(flips > 0)
        try data.write(to: URL(fileURLWithPath: file))
        guard case .damaged = try LedgerFile(directory: directory.path("ledger")).inspect() else {
            Issue.record("the flipped bit was not found")
            return
        }
    }
}
