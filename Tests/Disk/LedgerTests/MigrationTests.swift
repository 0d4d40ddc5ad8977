import Foundation
import TestSupport
import Testing
import UploadCore

@testable import Ledger

/// Opening ledgers that other versions of the program wrote.
struct MigrationTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test func everyOlderVersionHasAWayToThePresentOne() {
        #expect(Set(LedgerSchema.migrations.keys) == Set(LedgerSchema.oldest..<LedgerSchema.current))
    }

    @Test func aLedgerFromBeforeTheFirstReleaseIsRebuilt() async throws {
        let ledger = try openLedger(directory.path)
        await ledger.commit([.setting("kept", [1])])
        ledger.close()
        let environment = try Environment(
            path: directory.path("ledger.lmdb"), tables: LedgerTable.allCases.map(\.rawValue), mapSize: 64 << 20)
        try environment.write { transaction throws(LMDBError) in
            try LedgerSchema.put([8, 0, 0, 0], LedgerSchema.versionKey, in: transaction)
        }
        environment.close()
        let file = LedgerFile(directory: directory.path)
        #expect(try file.inspect() == .damaged("\(LedgerError.olderSchema(found: 8))"))
        let error = #expect(throws: LedgerError.olderSchema(found: 8)) { try openLedger(directory.path) }
        #expect(error?.isDamage == true)
        let saved = directory.path("saved")
        try FileManager.default.createDirectory(atPath: saved, withIntermediateDirectories: false)
        _ = try LedgerSalvage.make(at: saved + "/ledger.lmdb", from: file)
        #expect(try openLedger(saved).setting("kept") == [1])
    }

    @Test func aLedgerWithoutAJournalIsSoundAndGetsOne() async throws {
        let environment = try Environment(
            path: directory.path("ledger.lmdb"), tables: LedgerTable.allCases.dropLast(2).map(\.rawValue),
            mapSize: 64 << 20)
        try LedgerSchema.prepare(environment, newSecret: [UInt8](repeating: 7, count: LedgerSchema.secretSize))
        try environment.write { transaction throws(LMDBError) in
            try LedgerSchema.put([9, 0, 0, 0], LedgerSchema.versionKey, in: transaction)
            try LedgerSchema.put([1], setting: "kept", in: transaction)
        }
        environment.close()
        #expect(try LedgerFile(directory: directory.path).inspect() == .sound)
        let ledger = try openLedger(directory.path)
        #expect(try ledger.setting("kept") == [1])
        let row = JournalRow(time: WallTime(milliseconds: 1), subject: .file, outcome: .done, path: try path("a.jpg"))
        await ledger.commit([.outcome(JournalEntry(number: 1, row: row))])
        #expect(try ledger.journal(JournalQuery(names: ["a.jpg"])).map(\.number) == [1])
        ledger.close()
        #expect(try LedgerFile(directory: directory.path).inspect() == .sound)
    }

    @Test func aNewerLedgerIsNeitherDamagedNorTouched() async throws {
        let ledger = try openLedger(directory.path)
        await ledger.commit([.setting("kept", [1])])
        ledger.close()
        let environment = try Environment(
            path: directory.path("ledger.lmdb"), tables: LedgerTable.allCases.map(\.rawValue), mapSize: 64 << 20)
        try environment.write { transaction throws(LMDBError) in
            try LedgerSchema.put([11, 0, 0, 0], LedgerSchema.versionKey, in: transaction)
            // A newer version may use a record format that this version can't read.
            try transaction.put(LedgerTable.drops.table, [1], [1, 2, 3])
        }
        environment.close()
        #expect(throws: LedgerError.newerSchema(found: 11, supported: 10)) {
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
