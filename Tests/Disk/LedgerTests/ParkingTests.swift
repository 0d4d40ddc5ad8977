import TestSupport
import Testing
import UploadCore

@testable import Ledger

/// Parks uploads of other accounts and brings them back.
struct ParkingTests {
    private let directory: TemporaryDirectory
    private let ledger: Ledger
    private let other = RemoteScope("filesection http://127.0.0.1:8787 bob")

    init() throws {
        directory = try TemporaryDirectory()
        ledger = try openLedger(directory.path)
    }

    private func upload(_ scope: RemoteScope, fragments: Int = 10) -> UploadRecord {
        var upload = sampleUpload()
        upload.plan = FragmentPlan(size: UInt64(fragments) * UInt64(FragmentPlan.sectionSize))
        upload.scope = scope
        return upload
    }

    /// The writes that the uploader makes for all fragment pages of an upload.
    private func pages(_ acknowledged: FragmentSet, _ receipts: [Int: String], count: Int) -> [LedgerWrite] {
        stride(from: 0, to: count, by: FragmentPage.fragments).map {
            .fragments(sampleKey, FragmentPage(of: $0, in: acknowledged, receipts: receipts))
        }
    }

    private func entries(_ table: LedgerTable) throws -> Int { try ledger.statistics().entries[table] ?? 0 }

    @Test(arguments: [
        (10, 0), (4096, 0), (4097, 10), (10_000, 10_000), (100_000, 0), (2 << 20, 0), (2 << 20, 10_000),
    ]) func anUploadComesBackAsItWas(fragments: Int, receipts: Int) async throws {
        var random = SeededRandom(seed: UInt64(fragments + receipts))
        var acknowledged = FragmentSet(
            words: (0..<(fragments + 63) / 64).map { _ in random.next() & random.next() })
        for index in fragments..<(fragments + 63) / 64 * 64 { acknowledged.remove(index) }
        let receipts = Dictionary(uniqueKeysWithValues: (0..<receipts).map { ($0, "\"etag \($0 * 7919)\"") })
        let record = upload(sampleScope, fragments: fragments)
        await ledger.commit([.upload(record)] + pages(acknowledged, receipts, count: fragments))

        await ledger.commit([.park(sampleKey)])
        #expect(try ledger.upload(sampleKey) == nil)
        #expect(try entries(.fragments) == 0)
        #expect(
            try allParked(in: ledger) == [ParkedUpload(upload: record, acknowledged: acknowledged, receipts: receipts)])

        await ledger.commit([.unpark(sampleKey, sampleScope)])
        #expect(try entries(.parked) == 0)
        #expect(try ledger.upload(sampleKey) == record)
        let stored = try ledger.fragments(of: sampleKey, plan: record.plan)
        #expect(stored.acknowledged == acknowledged)
        #expect(stored.receipts == receipts)
        ledger.close()
        #expect(try LedgerFile(directory: directory.path).inspect() == .sound)
    }

    @Test func anUploadNobodyStoredCanNeitherBeParkedNorBroughtBack() async throws {
        #expect(await ledger.commit([.park(sampleKey), .unpark(sampleKey, other), .forgetParked(sampleKey, other)]))
        #expect(try entries(.parked) == 0 && entries(.uploads) == 0)
        await ledger.commit([.upload(upload(sampleScope)), .park(sampleKey), .unpark(sampleKey, other)])
        #expect(try ledger.upload(sampleKey) == nil)
        #expect(try allParked(in: ledger).map(\.upload) == [upload(sampleScope)])
    }

    @Test func theNextUploadOfTheContentStartsWithoutItsFragments() async throws {
        let mine = upload(other, fragments: 5000)
        await ledger.commit(
            [.upload(upload(sampleScope, fragments: 5000))]
                + pages(FragmentSet(prefix: 5000), [0: "etag"], count: 5000))
        await ledger.commit([.park(sampleKey), .upload(mine)])
        let stored = try ledger.fragments(of: sampleKey, plan: mine.plan)
        #expect(stored.acknowledged.count == 0 && stored.receipts.isEmpty)
    }

    @Test func bringingBackReplacesWhatStandsThere() async throws {
        let first = upload(sampleScope, fragments: 9000)
        await ledger.commit([
            .upload(first), .fragments(sampleKey, FragmentPage(index: 0, words: [0b1])), .park(sampleKey),
        ])
        await ledger.commit(
            [.upload(upload(other, fragments: 9000))] + pages(FragmentSet(prefix: 9000), [8999: "x"], count: 9000))
        await ledger.commit([.unpark(sampleKey, sampleScope)])
        #expect(try ledger.upload(sampleKey) == first)
        let stored = try ledger.fragments(of: sampleKey, plan: first.plan)
        #expect(stored.acknowledged.count == 1 && stored.acknowledged.contains(0) && stored.receipts.isEmpty)
    }

    @Test func accountsChangePlacesInOneCommit() async throws {
        await ledger.commit([.upload(upload(sampleScope)), .fragments(sampleKey, FragmentPage(index: 0, words: [1]))])
        await ledger.commit([
            .park(sampleKey), .upload(upload(other)), .fragments(sampleKey, FragmentPage(index: 0, words: [2])),
        ])
        await ledger.commit([.park(sampleKey), .unpark(sampleKey, sampleScope)])
        #expect(try ledger.upload(sampleKey) == upload(sampleScope))
        #expect(try ledger.fragments(of: sampleKey, plan: upload(other).plan).acknowledged.words == [1])
        let aside = try allParked(in: ledger)
        #expect(aside.map(\.upload) == [upload(other)] && aside.map(\.acknowledged.words) == [[2]])
    }

    @Test func digestsStayUntilNoUploadNeedsThem() async throws {
        await ledger.commit([.upload(upload(sampleScope)), .digests(sampleKey, [1, 2, 3]), .park(sampleKey)])
        await ledger.commit([.upload(upload(other)), .forgetUpload(sampleKey)])
        #expect(try ledger.digest(of: sampleKey, block: 1) == 2)
        await ledger.commit([.upload(upload(other)), .park(sampleKey), .forgetParked(sampleKey, sampleScope)])
        #expect(try ledger.digest(of: sampleKey, block: 1) == 2)
        #expect(try allParked(in: ledger).map(\.upload.scope) == [other])
        await ledger.commit([.forgetParked(sampleKey, other)])
        #expect(try ledger.digest(of: sampleKey, block: 1) == nil)
        #expect(try entries(.parked) == 0)
    }

    @Test func digestsStayForTheUploadThatTookThePlace() async throws {
        await ledger.commit([.upload(upload(sampleScope)), .digests(sampleKey, [1, 2, 3]), .park(sampleKey)])
        await ledger.commit([.upload(upload(other)), .forgetParked(sampleKey, sampleScope)])
        #expect(try ledger.digest(of: sampleKey, block: 2) == 3)
        await ledger.commit([.forgetUpload(sampleKey)])
        #expect(try ledger.digest(of: sampleKey, block: 2) == nil)
    }

    @Test func theDigestsOfAnotherContentMakeNoDifference() async throws {
        var neighbour = upload(sampleScope)
        neighbour.key = ContentKey(high: sampleKey.high, low: sampleKey.low + 1)
        await ledger.commit([.upload(neighbour), .park(neighbour.key)])
        await ledger.commit([.upload(upload(other)), .digests(sampleKey, [1]), .forgetUpload(sampleKey)])
        #expect(try ledger.digest(of: sampleKey, block: 0) == nil)
    }

    private func spoil(_ table: LedgerTable) throws {
        try ledger.environment.write { transaction throws(LMDBError) in
            for key in try transaction.reading.keys(table.table, prefix: LedgerKeys.content(sampleKey)) {
                try transaction.put(table.table, key, [1, 2, 3])
            }
        }
    }

    @Test func aDamagedOneIsReportedAndTheWalkGoesOn() async throws {
        var last = upload(sampleScope)
        last.key = ContentKey(high: .max, low: 0)
        await ledger.commit([.upload(upload(sampleScope)), .upload(last), .park(sampleKey), .park(last.key)])
        try spoil(.parked)
        var found: [UploadRecord] = []
        var damages: [LedgerError] = []
        try ledger.forEachParked(
            { record, _, _ in
                found.append(record)
                return true
            }, damaged: { damages.append($0) })
        #expect(found == [last])
        #expect(damages == [.damagedRecord(table: .parked, key: LedgerKeys.scoped(sampleKey, sampleScope))])
    }

    @Test func bringingADamagedOneBackForgetsItAndLeavesThePresentOne() async throws {
        await ledger.commit([.upload(upload(sampleScope)), .digests(sampleKey, [1]), .park(sampleKey)])
        await ledger.commit([.upload(upload(other))])
        try spoil(.parked)
        await ledger.commit([.unpark(sampleKey, sampleScope)])
        #expect(try ledger.upload(sampleKey) == upload(other))
        #expect(try ledger.digest(of: sampleKey, block: 0) == 1)
        #expect(try entries(.parked) == 0)
    }

    @Test func theFragmentsOfADamagedUploadAreNotLeftToTheNext() async throws {
        await ledger.commit([
            .upload(upload(sampleScope)), .digests(sampleKey, [1]),
            .fragments(sampleKey, FragmentPage(index: 0, words: [7])),
        ])
        try spoil(.uploads)
        await ledger.commit([.park(sampleKey)])
        #expect(try entries(.parked) == 0 && entries(.digests) == 0)
        await ledger.commit([.upload(upload(other))])
        #expect(try ledger.fragments(of: sampleKey, plan: upload(other).plan).acknowledged.count == 0)
    }

    @Test func manyLargeOnesAreWalkedOnceEach() async throws {
        var keys: [ContentKey] = []
        for number in 0..<40 {
            var record = upload(sampleScope, fragments: 1 << 20)
            record.key = ContentKey(high: UInt64(number), low: 0)
            keys.append(record.key)
            let words = [UInt64](repeating: .max, count: 64)
            await ledger.commit([
                .upload(record), .fragments(record.key, FragmentPage(index: 255, words: words)), .park(record.key),
            ])
        }
        #expect(try allParked(in: ledger).map(\.upload.key) == keys)
        #expect(try allParked(in: ledger).allSatisfy { $0.acknowledged.count == 4096 })
    }
}
