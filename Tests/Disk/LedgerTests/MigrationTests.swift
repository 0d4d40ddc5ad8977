import Foundation
import TestSupport
import Testing
import UploadCore

@testable import Ledger

/// Opening ledgers that older versions of the program wrote.
struct MigrationTests {
    private let directory: TemporaryDirectory
    private let secret = (0..<192).map { UInt8($0) }
    /// The tables that version 3 lacks.
    private static let tablesSinceFour: Set<LedgerTable> = [
        .sources, .parked, .directories, .queue, .start, .removals, .products,
    ]

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Returns the key of a drop before version 9: a hash of the whole path. Which hash, does not matter.
    private static func key(of path: RelativePath) -> [UInt8] {
        LedgerKeys.hashed(LedgerKeys.hash(path.bytes[...]), LedgerKeys.hash(path.bytes.reversed()[...])) + [0]
    }

    /// Writes a ledger of an older version with one drop.
    ///
    /// - Parameter fields: encodes the drop's fields in the format of that version.
    private func write(
        version: UInt8, _ drop: DropRecord, leavingOut missing: Set<LedgerTable> = Self.tablesSinceFour,
        fields: (inout RecordEncoder) -> Void
    ) throws {
        // The name of another table takes the place of each omitted table, so that later tables keep their positions.
        let tables = LedgerTable.allCases.map { missing.contains($0) ? LedgerTable.meta.rawValue : $0.rawValue }
        let environment = try Environment(path: directory.path("ledger.lmdb"), tables: tables, mapSize: 64 << 20)
        let key = Self.key(of: drop.path)
        var encoder = RecordEncoder()
        encoder.begin()
        fields(&encoder)
        encoder.seal(table: .drops, key: key)
        try environment.write { transaction throws(LMDBError) in
            try LedgerSchema.put([version, 0, 0, 0], LedgerSchema.versionKey, in: transaction)
            try LedgerSchema.put(secret, LedgerSchema.secretKey, in: transaction)
            try transaction.put(LedgerTable.drops.table, key, encoder.bytes)
            try transaction.put(LedgerTable.contents.table, LedgerKeys.content(sampleKey) + key, [])
        }
        environment.close()
    }

    /// Version 1: a drop's last field is the time at which the drop finished.
    private func writeVersionOne(_ drop: DropRecord) throws {
        try write(version: 1, drop) { encoder in
            encoder.append(bytes: drop.path.bytes)
            // Key, started, finished and deduplicated.
            encoder.append(UInt16(2 | 64 | 128 | 256))
            encoder.append(UInt8(8))
            encoder.append(drop.acceptedAt.milliseconds)
            encoder.append(sampleKey)
            encoder.append(Int64(7))
            encoder.append(Int64(8))
        }
    }

    /// Version 3: a drop's last field holds the facts about a picture.
    private func writeVersionThree(
        _ drop: DropRecord, as version: UInt8 = 3,
        leavingOut missing: Set<LedgerTable> = Self.tablesSinceFour
    ) throws {
        try write(version: version, drop, leavingOut: missing) { encoder in
            encoder.append(bytes: drop.path.bytes)
            // Bits 2, 64, 128, 256, 512, 2048 and 4096: key, started, finished, deduplicated, attempts, facts, examined.
            encoder.append(UInt16(7106))
            encoder.append(UInt8(8))
            encoder.append(drop.acceptedAt.milliseconds)
            encoder.append(sampleKey)
            encoder.append(Int64(7))
            encoder.append(Int64(8))
            encoder.append(Int64(2))
            encoder.append(Int64(640))
            encoder.append(Int64(480))
            encoder.append(UInt8(0))
        }
    }

    /// Version 5: there is no queue, and no index for the start.
    private func writeVersionFive(
        _ drops: [DropRecord], _ uploads: [UploadRecord],
        leavingOut missing: Set<LedgerTable> = [.queue, .start, .removals, .products]
    ) throws {
        let tables = LedgerTable.allCases.map { missing.contains($0) ? LedgerTable.meta.rawValue : $0.rawValue }
        let environment = try Environment(path: directory.path("ledger.lmdb"), tables: tables, mapSize: 64 << 20)
        var encoder = RecordEncoder()
        try environment.write { transaction throws(LMDBError) in
            try LedgerSchema.put([5, 0, 0, 0], LedgerSchema.versionKey, in: transaction)
            try LedgerSchema.put(secret, LedgerSchema.secretKey, in: transaction)
            for drop in drops {
                let slot = Self.key(of: drop.path)
                drop.encode(into: &encoder, key: slot)
                try transaction.put(LedgerTable.drops.table, slot, encoder.bytes)
                guard let key = drop.key else { continue }
                try transaction.put(LedgerTable.contents.table, LedgerKeys.content(key) + slot, [])
            }
            for upload in uploads {
                let key = LedgerKeys.content(upload.key)
                upload.encode(into: &encoder, key: key)
                try transaction.put(LedgerTable.uploads.table, key, encoder.bytes)
            }
        }
        environment.close()
    }

    /// A migration that ends before its commit leaves the tables, without entries.
    @Test(arguments: [[LedgerTable.queue, .start, .removals, .products], []])
    func aLedgerOfVersionFiveGetsAQueueAndCounts(
        without missing: [LedgerTable]
    ) async throws {
        let orders: [Int64] = [7, -3, .max, 0, .min]
        let uploads = (0..<1200).map { number in
            numberedUpload(
                UInt64(number) &* 0x9E37_79B9_7F4A_7C15, order: number < 5 ? orders[number] : Int64(number))
        }
        let drops = try (0..<1300).map { number in
            var drop = fullDrop(try path("day \(number % 7)/\(number)"), state: FileState.allCases[number % 12])
            drop.key = ContentKey(high: UInt64(number), low: 1)
            return drop
        }
        try writeVersionFive(drops, uploads, leavingOut: Set(missing))
        #expect(try LedgerFile(directory: directory.path).inspect() == .sound)
        let ledger = try openLedger(directory.path)
        #expect(try queue(of: ledger, pageSize: 100) == uploads.sorted { $0.place < $1.place })
        for drop in drops {
            #expect(try ledger.drop(at: drop.path) == drop)
            #expect(try ledger.drops(of: #require(drop.key)) == [drop.path])
        }
        #expect(try ledger.dropCount() == drops.count)
        var found: Set<RelativePath> = []
        try ledger.forEachDrop(within: path("day 3")) { found.insert($0.path).inserted }
        #expect(try found == Set(drops.map(\.path).filter { $0.isWithin(try path("day 3")) }))
        #expect(try ledger.counts() == numbers(of: drops))
        var needed = 0
        try ledger.forEachDropNeededAtStart { _ in
            needed += 1
            return true
        }
        #expect(needed == drops.count(where: \.isNeededAtStart))
        #expect(try ledger.setting(LedgerSetting.others) == [1])
        ledger.close()
        #expect(try LedgerFile(directory: directory.path).inspect() == .sound)
    }

    @Test func aDamagedUploadOfVersionFiveEntersTheQueueWhenItIsReplaced() async throws {
        let uploads = [1, 2, 3].map { numberedUpload(UInt64($0), order: $0) }
        try writeVersionFive([], uploads)
        let environment = try Environment(
            path: directory.path("ledger.lmdb"), tables: LedgerTable.allCases.map(\.rawValue), mapSize: 64 << 20)
        try environment.write { transaction throws(LMDBError) in
            try transaction.put(LedgerTable.uploads.table, LedgerKeys.content(uploads[1].key), [1, 2, 3])
        }
        environment.close()
        let ledger = try openLedger(directory.path)
        #expect(try ledger.uploads(after: nil, atMost: 9) == [uploads[0], uploads[2]])
        await ledger.commit([.upload(uploads[1])])
        #expect(try ledger.uploads(after: nil, atMost: 9) == uploads)
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

    @Test func aLedgerOfVersionThreeOpensWithEverythingInItAndRoomForMore() async throws {
        var drop = try sample()
        drop.attempts = 2
        drop.facts = MediaFacts(width: 640, height: 480)
        drop.isExamined = true
        try writeVersionThree(drop)
        #expect(try LedgerFile(directory: directory.path).inspect() == .sound)
        let ledger = try openLedger(directory.path)
        #expect(try ledger.drop(at: drop.path) == drop)
        #expect(try ledger.drop(at: drop.path)?.account == nil)
        drop.account = "ann"
        await ledger.commit([.drop(drop), .source(try fullSource()), .upload(sampleUpload()), .park(sampleKey)])
        ledger.close()
        #expect(try LedgerFile(directory: directory.path).inspect() == .sound)
        let again = try openLedger(directory.path)
        #expect(try again.drop(at: drop.path) == drop)
        #expect(try again.source(fullSource().id) == fullSource())
        #expect(try allParked(in: again) == [ParkedUpload(upload: sampleUpload(), pages: [])])
    }

    @Test(arguments: [LedgerTable.sources, .parked, .directories, .queue, .start, .removals, .products])
    func aTableThatThePresentVersionHasMustBeThere(
        table: LedgerTable
    ) throws {
        try writeVersionThree(try sample(), as: 8, leavingOut: [table])
        #expect(
            try LedgerFile(directory: directory.path).inspect() == .damaged("table \(table.rawValue) is missing"))
    }

    @Test func aTableThatEveryVersionHasMustBeThereInAnOlderOneToo() throws {
        try writeVersionThree(try sample(), leavingOut: Self.tablesSinceFour.union([.settings]))
        #expect(try LedgerFile(directory: directory.path).inspect() == .damaged("table settings is missing"))
    }

    @Test func whatIsLeftOfADamagedLedgerOfVersionThreeIsSaved() throws {
        let drop = try sample()
        try writeVersionThree(drop)
        let salvage = try LedgerSalvage.make(
            at: directory.path("saved.lmdb"), from: LedgerFile(directory: directory.path))
        #expect(salvage.saved == [.drops: 1])
    }

    @Test func openingItMakesItOneOfThePresentVersion() throws {
        try writeVersionOne(try sample())
        try openLedger(directory.path).close()
        let environment = try Environment(
            path: directory.path("ledger.lmdb"), tables: LedgerTable.allCases.map(\.rawValue), mapSize: 64 << 20)
        let stored = try environment.read { transaction throws(LMDBError) in
            try LedgerSchema.value(LedgerSchema.versionKey, in: transaction)
        }
        #expect(try stored?.get() == [9, 0, 0, 0])
    }

    @Test func anOlderLedgerFindsItsDropsByTheirDirectories() throws {
        var drop = try sample()
        drop.path = try path("trip/day/a.jpg")
        drop.attempts = 2
        drop.facts = MediaFacts(width: 640, height: 480)
        drop.isExamined = true
        try writeVersionThree(drop, as: 4, leavingOut: [.directories, .queue])
        let ledger = try openLedger(directory.path)
        for name in ["trip", "trip/day"] {
            var found: [DropRecord] = []
            try ledger.forEachDrop(within: path(name)) {
                found.append($0)
                return true
            }
            #expect(found == [drop])
        }
    }

    /// Version 6: ids to delete on the server are settings.
    private func writeVersionSix() throws {
        try writeVersionThree(try sample(), as: 6, leavingOut: [.start, .removals, .products])
        let environment = try Environment(
            path: directory.path("ledger.lmdb"), tables: LedgerTable.allCases.map(\.rawValue), mapSize: 64 << 20)
        let scopes = ["8": sampleScope.description, "a/b c": sampleScope.description, "9": "filesection http://b ben"]
        try environment.write { transaction throws(LMDBError) in
            try StateCounts.count(in: transaction.reading).store(in: transaction)
            for (id, scope) in scopes {
                try LedgerSchema.put(Array(scope.utf8), setting: "removal/\(id)", in: transaction)
            }
            try LedgerSchema.put([1], setting: "paused", in: transaction)
        }
        environment.close()
    }

    @Test func pendingRemovalsOfVersionSixStayPending() throws {
        try writeVersionSix()
        let ledger = try openLedger(directory.path)
        #expect(try Set(ledger.removals(for: sampleScope)) == Set(["8", "a/b c"].map { RemoteHandle(id: $0) }))
        #expect(try ledger.removals(for: RemoteScope("filesection http://b ben")) == [RemoteHandle(id: "9")])
        #expect(try ledger.setting("removal/8") == nil)
        #expect(try ledger.setting("paused") == [1])
        ledger.close()
        #expect(try LedgerFile(directory: directory.path).inspect() == .sound)
    }

    @Test func pendingRemovalsOfADamagedLedgerOfVersionSixAreSaved() throws {
        try writeVersionSix()
        let saved = directory.path("saved")
        try FileManager.default.createDirectory(atPath: saved, withIntermediateDirectories: false)
        _ = try LedgerSalvage.make(at: saved + "/ledger.lmdb", from: LedgerFile(directory: directory.path))
        let ledger = try openLedger(saved)
        #expect(try Set(ledger.removals(for: sampleScope)) == Set(["8", "a/b c"].map { RemoteHandle(id: $0) }))
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
            try LedgerSchema.put([10, 0, 0, 0], LedgerSchema.versionKey, in: transaction)
            // A newer version may use a record format that this version can't read.
            try transaction.put(LedgerTable.drops.table, [1], [1, 2, 3])
        }
        environment.close()
        #expect(throws: LedgerError.newerSchema(found: 10, supported: 9)) {
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
