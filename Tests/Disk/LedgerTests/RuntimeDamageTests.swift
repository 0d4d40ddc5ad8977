import TestSupport
import Testing
import UploadCore

@testable import Ledger

/// The ledger finds damaged records while in use.
struct RuntimeDamageTests {
    private let directory: TemporaryDirectory
    private let ledger: Ledger

    init() async throws {
        directory = try TemporaryDirectory()
        ledger = try openLedger(directory.path)
        await ledger.commit([
            .drop(fullDrop(try path("a.jpg"))), .upload(sampleUpload()), .setting("paused", [1]),
            .fragments(sampleKey, FragmentPage(index: 0, words: [7])),
        ])
    }

    private func spoil(_ table: LedgerTable) throws {
        try ledger.environment.write { transaction throws(LMDBError) in
            for key in try transaction.reading.keys(table.table, prefix: []) {
                try transaction.put(table.table, key, [1, 2, 3])
            }
        }
    }

    @Test func aDamagedRecordIsAbsentAndTheNextWriteHealsIt() async throws {
        try spoil(.drops)
        try spoil(.settings)
        try spoil(.uploads)
        let name = try path("a.jpg")
        #expect(try ledger.drop(at: name) == nil)
        #expect(try ledger.setting("paused") == nil)
        #expect(try ledger.upload(sampleKey) == nil)
        await ledger.commit([.drop(fullDrop(name)), .setting("paused", [2])])
        #expect(try ledger.drop(at: name) == fullDrop(name))
        #expect(try ledger.drops(of: sampleKey) == [name])
        #expect(try ledger.setting("paused") == [2])
    }

    @Test func fragmentsOfADamagedPageGoAgain() throws {
        try spoil(.fragments)
        #expect(try ledger.fragments(of: sampleKey, plan: sampleUpload().plan).acknowledged.count == 0)
    }

    @Test func damagedRecordsAreCounted() throws {
        try spoil(.drops)
        #expect(try ledger.statistics().damagedRecords == 0)
        _ = try ledger.drop(at: path("a.jpg"))
        #expect(try ledger.statistics().damagedRecords == 1)
    }

    @Test func aLostSecretIsNotReplacedBehindTheBackOfWhatItKeyed() throws {
        try spoil(.meta)
        #expect(throws: LedgerError.damagedRecord(table: .meta, key: LedgerSchema.secretKey)) {
            try ledger.digestSecret()
        }
    }

    @Test func statisticsCountEntriesAndRoom() async throws {
        let before = try ledger.statistics()
        #expect(before.entries[.drops] == 1 && before.entries[.contents] == 1 && before.entries[.meta] == 3)
        #expect(before.fileSize > 0 && before.mapSize >= before.fileSize)
        await ledger.commit([.setting("large", [UInt8](repeating: 1, count: 1 << 20))])
        await ledger.commit([.setting("large", nil)])
        await ledger.commit([])
        let after = try ledger.statistics()
        #expect(after.entries[.settings] == 1)
        #expect(after.freeSize >= 1 << 20)
    }
}
