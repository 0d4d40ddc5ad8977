import TestSupport
import Testing
import UploadCore

@testable import Ledger

/// Ledgers as older versions of the program wrote them.
struct MigrationTests {
    private let directory: TemporaryDirectory
    private let secret = (0..<192).map { UInt8($0) }

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Version 1: drops end with the time at which they were finished.
    private func writeVersionOne(_ drop: DropRecord) throws {
        let environment = try Environment(
            path: directory.path("ledger.lmdb"), tables: LedgerTable.allCases.map(\.rawValue), mapSize: 64 << 20)
        try environment.write { transaction throws(LMDBError) in
            try LedgerSchema.put([1, 0, 0, 0], LedgerSchema.versionKey, in: transaction)
            try LedgerSchema.put(secret, LedgerSchema.secretKey, in: transaction)
            let key = LedgerKeys.pathHash(drop.path.bytes) + [0]
            var encoder = RecordEncoder()
            encoder.begin()
            encoder.append(bytes: drop.path.bytes)
            // Key, started, finished and deduplicated.
            encoder.append(UInt16(2 | 64 | 128 | 256))
            encoder.append(UInt8(8))
            encoder.append(drop.acceptedAt.milliseconds)
            encoder.append(sampleKey)
            encoder.append(Int64(7))
            encoder.append(Int64(8))
            encoder.seal(table: .drops, key: key)
            try transaction.put(LedgerTable.drops.table, key, encoder.bytes)
            try transaction.put(LedgerTable.contents.table, LedgerKeys.content(sampleKey) + key, [])
        }
        environment.close()
    }

    private func sample() throws -> DropRecord {
        var drop = DropRecord(path: try path("a.jpg"), state: .done, acceptedAt: WallTime(milliseconds: 5))
        drop.key = sampleKey
        drop.deduplicated = true
        drop.startedAt = WallTime(milliseconds: 7)
        drop.finishedAt = WallTime(milliseconds: 8)
        return drop
    }

    @Test func aLedgerOfVersionOneOpensWithEverythingInIt() async throws {
        var drop = try sample()
        try writeVersionOne(drop)
        #expect(try LedgerFile(directory: directory.path).inspect() == .sound)
        let ledger = try openLedger(directory.path)
        #expect(try ledger.drop(at: drop.path) == drop)
        #expect(try ledger.drops(of: sampleKey) == [drop.path])
        #expect(try ledger.digestSecret() == secret)
        drop.attempts = 3
        await ledger.commit([.drop(drop)])
        #expect(try ledger.drop(at: drop.path)?.attempts == 3)
    }

    @Test func openingItMakesItOneOfThePresentVersion() throws {
        try writeVersionOne(try sample())
        try openLedger(directory.path).close()
        let environment = try Environment(
            path: directory.path("ledger.lmdb"), tables: LedgerTable.allCases.map(\.rawValue), mapSize: 64 << 20)
        let stored = try environment.read { transaction throws(LMDBError) in
            try LedgerSchema.value(LedgerSchema.versionKey, in: transaction)
        }
        #expect(try stored?.get() == [3, 0, 0, 0])
    }

    @Test func everyOlderVersionHasAWayToThePresentOne() {
        #expect(Set(LedgerSchema.migrations.keys) == Set(1..<LedgerSchema.current))
    }

    @Test func aNewerLedgerIsNeitherDamagedNorTouched() async throws {
        let ledger = try openLedger(directory.path)
        await ledger.commit([.setting("kept", [1])])
        ledger.close()
        let environment = try Environment(
            path: directory.path("ledger.lmdb"), tables: LedgerTable.allCases.map(\.rawValue), mapSize: 64 << 20)
        try environment.write { transaction throws(LMDBError) in
            try LedgerSchema.put([9, 0, 0, 0], LedgerSchema.versionKey, in: transaction)
            // What a newer program writes need not be what this one expects.
            try transaction.put(LedgerTable.drops.table, [1], [1, 2, 3])
        }
        environment.close()
        #expect(throws: LedgerError.newerSchema(found: 9, supported: 3)) {
            try LedgerFile(directory: directory.path).inspect()
        }
    }

    @Test func aLedgerThatHasRecordsButNoVersionIsDamaged() async throws {
        let ledger = try openLedger(directory.path)
        await ledger.commit([.setting("kept", [1])])
        ledger.close()
        let environment = try Environment(
            path: directory.path("ledger.lmdb"), tables: LedgerTable.allCases.map(\.rawValue), mapSize: 64 << 20)
        _ = try environment.write { transaction throws(LMDBError) in
            try transaction.remove(LedgerTable.meta.table, LedgerSchema.versionKey)
        }
        environment.close()
        let error = #expect(throws: LedgerError.self) { try openLedger(directory.path) }
        #expect(error?.isDamage == true)
    }
}
