import TestSupport
import Testing
import UploadCore

@testable import Ledger

/// Reads uploads in the order of sending.
struct QueueTests {
    private let directory: TemporaryDirectory
    private let ledger: Ledger

    init() throws {
        directory = try TemporaryDirectory()
        ledger = try openLedger(directory.path("ledger"))
    }

    private var entries: Int? { get throws { try ledger.statistics().entries[.queue] } }

    @Test(arguments: [1, 3, 1000]) func uploadsComeByOrderAndThenByKey(pageSize: Int) async throws {
        var random = SeededRandom(seed: 5)
        let orders: [Int64] = [.min, .min + 1, -65536, -256, -255, -1, 0, 1, 255, 256, 65536, .max - 1, .max]
        let uploads = orders.enumerated().flatMap { index, order in
            [0, 1, UInt64.max].map { high in
                var upload = numberedUpload(high, order: order)
                upload.key = ContentKey(high: high, low: UInt64(index))
                return upload
            }
        }
        for upload in uploads.shuffled(using: &random) { ledger.commit([.upload(upload)]) {} }
        await ledger.commit([])
        #expect(try queue(of: ledger, pageSize: pageSize) == uploads.sorted { $0.place < $1.place })
    }

    @Test func aPageBeginsAfterItsPlaceWhetherOrNotAnUploadHasIt() async throws {
        let uploads = [-5, 5, 7].map { numberedUpload(UInt64(bitPattern: $0), order: $0) }
        await ledger.commit(uploads.map { .upload($0) })
        #expect(try ledger.uploads(after: uploads[0].place, atMost: 10) == Array(uploads[1...]))
        #expect(try ledger.uploads(after: QueuePlace(order: 6, key: sampleKey), atMost: 10) == [uploads[2]])
        let last = QueuePlace(order: .max, key: ContentKey(high: .max, low: .max))
        #expect(try ledger.uploads(after: last, atMost: 10) == [])
        #expect(try ledger.uploads(after: nil, atMost: 0) == [])
        #expect(try ledger.uploads(after: nil, atMost: -1) == [])
    }

    @Test func theQueueHasTwoEnds() async throws {
        #expect(try ledger.queueEnds() == nil)
        let uploads = [5, -7, .max, 0].map { numberedUpload(UInt64(bitPattern: $0), order: $0) }
        await ledger.commit(uploads.map { .upload($0) })
        #expect(try ledger.queueEnds()?.first == uploads[1].place)
        #expect(try ledger.queueEnds()?.last == uploads[2].place)
    }

    @Test func aLargePageIsReadToItsEnd() async throws {
        let uploads = (0..<1500).map { numberedUpload($0 &* 0x9E37_79B9_7F4A_7C15, order: Int64($0)) }
        await ledger.commit(uploads.map { .upload($0) })
        #expect(try ledger.uploads(after: nil, atMost: 1400) == Array(uploads[..<1400]))
        #expect(try ledger.uploads(after: uploads[1399].place, atMost: 1400) == Array(uploads[1400...]))
    }

    @Test func anUploadWithANewOrderLeavesItsFormerPlace() async throws {
        var upload = numberedUpload(1, order: 4)
        await ledger.commit([.upload(upload), .upload(numberedUpload(2, order: 3))])
        upload.attempts = 7
        await ledger.commit([.upload(upload)])
        #expect(try ledger.uploads(after: nil, atMost: 9) == [numberedUpload(2, order: 3), upload])
        upload.order = -1
        await ledger.commit([.upload(upload)])
        #expect(try ledger.uploads(after: nil, atMost: 9) == [upload, numberedUpload(2, order: 3)])
        #expect(try entries == 2)
    }

    @Test func aForgottenUploadLeavesTheQueue() async throws {
        await ledger.commit([.upload(numberedUpload(1, order: 1)), .upload(numberedUpload(2, order: 2))])
        await ledger.commit([.forgetUpload(numberedUpload(1, order: 1).key)])
        #expect(try ledger.uploads(after: nil, atMost: 9) == [numberedUpload(2, order: 2)])
        #expect(try entries == 1)
    }

    @Test func aParkedUploadIsInTheQueueOnlyAfterItsReturn() async throws {
        let upload = numberedUpload(1, order: 1)
        var other = numberedUpload(1, order: 9)
        other.scope = RemoteScope("filesection http://127.0.0.1:8787 bob")
        await ledger.commit([.upload(upload), .park(upload.key)])
        #expect(try entries == 0)
        await ledger.commit([.upload(other)])
        #expect(try ledger.uploads(after: nil, atMost: 9) == [other])
        // The parked upload replaces the other account's upload.
        await ledger.commit([.unpark(upload.key, sampleScope)])
        #expect(try ledger.uploads(after: nil, atMost: 9) == [upload])
        #expect(try entries == 1)
    }

    @Test func aRefusedCommitChangesNoPlace() async throws {
        await ledger.commit([.upload(numberedUpload(1, order: 1)), .upload(numberedUpload(2, order: 2))])
        let long = String(repeating: "x", count: 600)
        ledger.commit([.upload(numberedUpload(3, order: 3))]) {}
        let writes: [LedgerWrite] = [
            .upload(numberedUpload(1, order: -1)), .forgetUpload(numberedUpload(2, order: 2).key),
            .upload(numberedUpload(4, order: 4)), .setting(long, [1]),
        ]
        #expect(await ledger.commit(writes) == false)
        let expected = [1, 2, 3].map { numberedUpload(UInt64($0), order: $0) }
        #expect(try ledger.uploads(after: nil, atMost: 9) == expected)
        #expect(try entries == 3)
    }

    private func spoil(_ key: ContentKey) throws {
        try ledger.environment.write { transaction throws(LMDBError) in
            try transaction.put(LedgerTable.uploads.table, LedgerKeys.content(key), [1, 2, 3])
        }
    }

    @Test(arguments: [1, 2, 5]) func aPageWithDamagedUploadsIsFullAllTheSame(pageSize: Int) async throws {
        let uploads = (1...9).map { numberedUpload(UInt64($0), order: $0) }
        await ledger.commit(uploads.map { .upload($0) })
        for index in [0, 3, 4, 5, 8] { try spoil(uploads[index].key) }
        let sound = [1, 2, 6, 7].map { uploads[$0] }
        var damages: [LedgerError] = []
        let page = try ledger.uploads(after: nil, atMost: pageSize) { damages.append($0) }
        #expect(page == Array(sound.prefix(pageSize)))
        #expect(damages.first == .damagedRecord(table: .uploads, key: LedgerKeys.content(uploads[0].key)))
        #expect(try ledger.statistics().damagedRecords == damages.count)
        #expect(try queue(of: ledger, pageSize: pageSize) == sound)
    }

    @Test func aRecordThatReplacesADamagedOneHasOnePlace() async throws {
        let uploads = (1...3).map { numberedUpload(UInt64($0), order: $0) }
        await ledger.commit(uploads.map { .upload($0) })
        for upload in uploads { try spoil(upload.key) }
        let moved = numberedUpload(1, order: 8)
        await ledger.commit([.upload(moved), .forgetUpload(uploads[1].key), .park(uploads[2].key)])
        #expect(try ledger.uploads(after: nil, atMost: 9) == [moved])
        #expect(try entries == 1)
        ledger.close()
        #expect(try LedgerFile(directory: directory.path("ledger")).inspect() == .sound)
    }

    @Test func anEntryWithoutAnUploadIsSkippedAndFoundByTheInspection() async throws {
        let upload = numberedUpload(1, order: 1)
        await ledger.commit([.upload(upload)])
        let stale = LedgerKeys.place(QueuePlace(order: 0, key: upload.key))
        let foreign = LedgerKeys.place(QueuePlace(order: 2, key: sampleKey))
        try ledger.environment.write { transaction throws(LMDBError) in
            for entry in [stale, foreign, [1, 2, 3]] { try transaction.put(LedgerTable.queue.table, entry, []) }
        }
        var damages: [LedgerError] = []
        #expect(try ledger.uploads(after: nil, atMost: 9) { damages.append($0) } == [upload])
        #expect(Set(damages) == Set([stale, foreign, [1, 2, 3]].map { .damagedRecord(table: .queue, key: $0) }))
        ledger.close()
        guard case .damaged = try LedgerFile(directory: directory.path("ledger")).inspect() else {
            Issue.record("the inspection found no damage")
            return
        }
    }

    @Test func anUploadWithoutAnEntryIsFoundByTheInspectionAndBackAfterTheRescue() async throws {
        let uploads = [3, -1, 2].map { numberedUpload(UInt64(bitPattern: $0), order: $0) }
        await ledger.commit(uploads.map { .upload($0) })
        try ledger.environment.write { transaction throws(LMDBError) in
            _ = try transaction.remove(LedgerTable.queue.table, LedgerKeys.place(uploads[2].place))
        }
        ledger.close()
        let file = LedgerFile(directory: directory.path("ledger"))
        #expect(try file.inspect() == .damaged("the queue does not match the uploads"))
        let rescued = try TemporaryDirectory()
        _ = try LedgerSalvage.make(at: rescued.path("ledger.lmdb"), from: file)
        #expect(try LedgerFile(directory: rescued.path).inspect() == .sound)
        #expect(try queue(of: openLedger(rescued.path), pageSize: 2) == uploads.sorted { $0.place < $1.place })
    }

    /// Compares the queue with a model over random writes, and at random times in a copy of the open file, which
    /// equals the file that a kill leaves behind.
    @Test(arguments: [1, 2, 3]) func theQueueEqualsAModelAfterAnyWritesAndKills(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let scopes = [sampleScope, RemoteScope("filesection http://127.0.0.1:8787 bob")]
        var uploads: [UInt64: UploadRecord] = [:]
        var parked: [String: UploadRecord] = [:]
        for round in 0..<150 {
            var writes: [LedgerWrite] = []
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let number = UInt64.random(in: 0..<12, using: &random)
                let key = numberedUpload(number, order: 0).key
                let scope = scopes[Int.random(in: 0...1, using: &random)]
                switch Int.random(in: 0..<9, using: &random) {
                case 0...4:
                    var upload = numberedUpload(number, order: Int64.random(in: -4...4, using: &random))
                    upload.scope = scope
                    uploads[number] = upload
                    writes.append(.upload(upload))
                case 5:
                    uploads[number] = nil
                    writes.append(.forgetUpload(key))
                case 6:
                    if let upload = uploads.removeValue(forKey: number) {
                        parked["\(number) \(upload.scope)"] = upload
                    }
                    writes.append(.park(key))
                case 7:
                    if let upload = parked.removeValue(forKey: "\(number) \(scope)") {
                        uploads[number] = upload
                    }
                    writes.append(.unpark(key, scope))
                default:
                    parked["\(number) \(scope)"] = nil
                    writes.append(.forgetParked(key, scope))
                }
            }
            await ledger.commit(writes)
            let expected = uploads.values.sorted { $0.place < $1.place }
            #expect(try queue(of: ledger, pageSize: Int.random(in: 1...5, using: &random)) == expected)
            #expect(try entries == expected.count)
            if round % 50 == 49 {
                let killed = try copyOfLedger(in: directory.path("ledger"))
                #expect(try LedgerFile(directory: killed.path).inspect() == .sound)
                #expect(try queue(of: openLedger(killed.path), pageSize: 4) == expected)
            }
        }
    }
}
