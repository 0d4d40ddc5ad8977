import Foundation
import TestSupport
import Testing
import UploadCore

@testable import Ledger

/// Flips bits of a ledger file, overwrites pages and cuts the file. The inspection finds the damage, or the ledger
/// reads the same. Salvaged records equal the original records.
struct DamageTests {
    private let directory: TemporaryDirectory
    private let sound: Data
    private let contents: LedgerContents
    /// Number of damaged files. `OUTBOX_DAMAGES=5000` makes a long trial.
    private static let flips = ProcessInfo.processInfo.environment["OUTBOX_DAMAGES"].flatMap(Int.init) ?? 20
    private var file: LedgerFile { LedgerFile(directory: directory.path) }

    init() async throws {
        directory = try TemporaryDirectory()
        let ledger = try openLedger(directory.path)
        try await fill(ledger, paths: 300)
        contents = try LedgerContents(ledger)
        let used = try ledger.statistics().fileSize
        ledger.close()
        sound = try Data(contentsOf: URL(fileURLWithPath: directory.path("ledger.lmdb"))).prefix(used)
    }

    private func write(_ data: Data) throws {
        try data.write(to: URL(fileURLWithPath: file.path))
        try? FileManager.default.removeItem(atPath: file.path + "-lock")
    }

    @Test func aLedgerAsItWasWrittenIsSound() throws {
        #expect(try file.inspect() == .sound)
        #expect(contents.drops.count == 250)
        #expect(contents.sources.count == 30 && contents.parked.count == 30)
    }

    @Test func sourcesAndUploadsSetAsideAreSavedWithTheirDigests() throws {
        try write(sound)
        let salvage = try LedgerSalvage.make(at: directory.path("new"), from: file)
        #expect(salvage.saved[.sources] == 30 && salvage.saved[.parked] == 30 && salvage.lost == 0)
        try FileManager.default.createDirectory(atPath: directory.path("saved"), withIntermediateDirectories: false)
        try FileManager.default.moveItem(atPath: directory.path("new"), toPath: directory.path("saved/ledger.lmdb"))
        let ledger = try openLedger(directory.path("saved"))
        defer { ledger.close() }
        let saved = try LedgerContents(ledger)
        #expect(saved.sources == contents.sources && saved.parked == contents.parked)
        #expect(saved.parked.keys.allSatisfy { saved.digests[$0] == .some(9) })
    }

    @Test func withoutTheSecretSourcesAreSavedAndUploadsSetAsideAreNot() throws {
        try write(sound)
        let environment = try Environment(
            path: file.path, tables: LedgerTable.allCases.map(\.rawValue), mapSize: 64 << 20)
        try environment.write { transaction throws(LMDBError) in
            try transaction.put(LedgerTable.meta.table, LedgerSchema.secretKey, [1, 2, 3])
        }
        environment.close()
        let salvage = try LedgerSalvage.make(at: directory.path("new"), from: file)
        #expect(salvage.hasNewSecret)
        #expect(salvage.saved[.sources] == 30 && salvage.saved[.parked] == nil && salvage.saved[.digests] == nil)
    }

    @Test func noFileAndAnEmptyOneAreMissing() throws {
        try write(Data())
        #expect(try file.inspect() == .missing)
        try FileManager.default.removeItem(atPath: file.path)
        #expect(try file.inspect() == .missing)
    }

    @Test func flippedBytesAreFoundOrMakeNoDifference() throws {
        var random = SeededRandom(seed: 19)
        var found = 0
        for _ in 0..<Self.flips {
            var data = sound
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                data[Int.random(in: 0..<data.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
            if try checkDamage(data) { found += 1 }
        }
        // The exact number depends on the fill of the pages, which differs between runs.
        #expect(found > 0)
    }

    @Test func flippedBytesInTheHeadAreFoundOrMakeNoDifference() throws {
        var random = SeededRandom(seed: 20)
        for _ in 0..<Self.flips / 2 {
            var data = sound
            let offset = [0, 4096].randomElement(using: &random) ?? 0
            data[offset + Int.random(in: 0..<Meta.end, using: &random)] = UInt8.random(in: 0...255, using: &random)
            try checkDamage(data)
        }
    }

    @Test func overwrittenAndSwappedPagesAreFoundOrMakeNoDifference() throws {
        var random = SeededRandom(seed: 21)
        let pages = sound.count / 4096
        for _ in 0..<Self.flips / 4 {
            var data = sound
            let to = Int.random(in: 0..<pages, using: &random) * 4096
            let from = Int.random(in: 0..<pages, using: &random) * 4096
            let page = Bool.random(using: &random) ? sound[from..<from + 4096] : Data(repeating: 0, count: 4096)
            data.replaceSubrange(to..<to + 4096, with: page)
            try checkDamage(data)
        }
    }

    @Test func cutsAreFoundOrMakeNoDifference() throws {
        var random = SeededRandom(seed: 22)
        for _ in 0..<Self.flips / 5 {
            try checkDamage(sound.prefix(Int.random(in: 1..<sound.count, using: &random)))
        }
    }

    @Test func textInItsPlaceIsDamageAndNothingIsSaved() throws {
        try write(Data(String(repeating: "not a ledger\n", count: 5000).utf8))
        guard case .damaged = try file.inspect() else {
            Issue.record("text was taken for a ledger")
            return
        }
        #expect(try LedgerSalvage.make(at: directory.path("new"), from: file).saved.isEmpty)
    }

    /// Checks that the inspection finds the damage, or that the ledger reads the same despite the damage.
    ///
    /// - Returns: whether the inspection found the damage.
    @discardableResult
    private func checkDamage(_ data: Data) throws -> Bool {
        try write(data)
        let other = try TemporaryDirectory()
        let condition = try file.inspect()
        if case .damaged = condition {
            let salvage = try LedgerSalvage.make(at: other.path("ledger.lmdb"), from: file)
            #expect(try LedgerFile(directory: other.path).inspect() == .sound)
            let ledger = try openLedger(other.path)
            defer { ledger.close() }
            try LedgerContents(ledger).check(isPartOf: contents, sameSecret: !salvage.hasNewSecret)
            return true
        }
        let ledger = try openLedger(directory.path)
        defer { ledger.close() }
        let left = try LedgerContents(ledger)
        try left.check(isPartOf: contents, sameSecret: true)
        // If the damage leads LMDB to the previous meta page, the ledger lacks only the last commit.
        #expect(left.drops.count == contents.drops.count && left.secret == contents.secret)
        return false
    }
}

/// All records of a ledger.
struct LedgerContents {
    var drops: [RelativePath: DropRecord] = [:]
    var uploads: [ContentKey: UploadRecord] = [:]
    var acknowledged: [ContentKey: FragmentSet] = [:]
    var digests: [ContentKey: UInt64?] = [:]
    var settings: [String: [UInt8]] = [:]
    var removals: Set<RemoteHandle> = []
    var confirmations: [ContentKey: UploadCore.Confirmation] = [:]
    var sources: [String: SourceRecord] = [:]
    var parked: [ContentKey: ParkedUpload] = [:]
    var secret: [UInt8]

    init(_ ledger: Ledger) throws {
        secret = try ledger.digestSecret()
        var drops: [RelativePath: DropRecord] = [:]
        try ledger.forEachDrop({ record in
            drops[record.path] = record
            return true
        })
        var uploads: [ContentKey: UploadRecord] = [:]
        try ledger.forEachUpload({ record in
            uploads[record.key] = record
            return true
        })
        self.drops = drops
        self.uploads = uploads
        #expect(try ledger.counts() == numbers(of: drops.values))
        #expect(try queue(of: ledger, pageSize: 7) == uploads.values.sorted { $0.place < $1.place })
        for (key, upload) in uploads {
            acknowledged[key] = try ledger.fragments(of: key, plan: upload.plan).acknowledged
            digests[key] = try ledger.digest(of: key, block: 0)
        }
        for (key, paths) in Dictionary(grouping: drops.values, by: \.key) {
            guard let key else { continue }
            confirmations[key] = try ledger.confirmation(of: key, scope: sampleScope)
            #expect(try Set(ledger.drops(of: key)) == Set(paths.map(\.path)))
        }
        for source in try allSources(in: ledger) { sources[source.id] = source }
        for upload in try allParked(in: ledger) {
            parked[upload.upload.key] = upload
            digests[upload.upload.key] = try ledger.digest(of: upload.upload.key, block: 0)
        }
        for name in ["large", "paused"] { settings[name] = try ledger.setting(name) }
        removals = Set(try ledger.removals(for: sampleScope))
    }

    func check(isPartOf whole: LedgerContents, sameSecret: Bool) throws {
        #expect((secret == whole.secret) == sameSecret)
        #expect(drops.allSatisfy { whole.drops[$0.key] == $0.value })
        #expect(uploads.allSatisfy { whole.uploads[$0.key] == $0.value })
        #expect(sources.allSatisfy { whole.sources[$0.key] == $0.value })
        #expect(parked.allSatisfy { whole.parked[$0.key] == $0.value })
        #expect(settings.allSatisfy { whole.settings[$0.key] == $0.value })
        #expect(removals.isSubset(of: whole.removals))
        #expect(confirmations.allSatisfy { whole.confirmations[$0.key] == $0.value })
        #expect(digests.allSatisfy { $0.value == nil || whole.digests[$0.key] == $0.value })
        for (key, fragments) in acknowledged {
            let known = try #require(whole.acknowledged[key])
            #expect(
                (0..<(whole.uploads[key]?.plan.count ?? 0)).allSatisfy { !fragments.contains($0) || known.contains($0) }
            )
        }
    }
}

/// Stores paths of every state in a ledger and deletes some, so that the ledger has pages of every kind.
func fill(_ ledger: Ledger, paths: Int) async throws {
    for number in 0..<paths {
        let key = ContentKey(high: UInt64(number % (paths / 3 + 1)) &* 0x9E37_79B9_7F4A_7C15, low: 7)
        var drop = fullDrop(try path("day \(number / 50)/IMG_\(number).jpg"), state: number % 3 == 0 ? .queued : .done)
        drop.key = key
        var upload = UploadRecord(
            key: key, seal: sampleSeal, plan: FragmentPlan(size: 5_000_000), scope: sampleScope, order: Int64(number))
        upload.handle = RemoteHandle(id: "\(number)")
        var confirmation = sampleConfirmation()
        confirmation.key = key
        ledger.commit([
            .drop(drop), .upload(upload), .digests(key, [UInt64(number), 2, 3]),
            .fragments(key, FragmentPage(index: 0, words: [UInt64(number % 512)])), .confirmation(confirmation),
            .removal(RemoteHandle(id: "\(number)"), sampleScope),
        ]) {}
        if number % 60 == 0 { await ledger.commit([]) }
    }
    ledger.commit([.setting("large", [UInt8](repeating: 3, count: 30_000)), .setting("paused", [])]) {}
    for number in 0..<paths / 6 {
        ledger.commit([
            .forgetDrop(try path("day \(number / 50)/IMG_\(number).jpg")),
            .forgetRemoval(RemoteHandle(id: "\(number)"), sampleScope),
        ]) {}
        if number % 20 == 0 { await ledger.commit([]) }
    }
    try fillAside(ledger)
    await ledger.commit([])
    // A damaged meta page leads back to the state before the last commit. That state then lacks only this setting.
    await ledger.commit([.setting("last", [1])])
}

/// Stores sources, and parked uploads, one of which is too large for a page.
private func fillAside(_ ledger: Ledger) throws {
    for number in 0..<30 {
        var upload = sampleUpload()
        upload.key = ContentKey(high: UInt64(number) << 57, low: 8)
        upload.plan = FragmentPlan(size: number == 7 ? 1 << 38 : 1 << 32)
        ledger.commit([
            .source(try fullSource("source \(number)", stage: number % 2 == 0 ? .uploading : .done)), .upload(upload),
            .digests(upload.key, [9]),
            .fragments(upload.key, FragmentPage(index: 0, words: [UInt64(number)], receipts: [0: "etag"])),
            .park(upload.key),
        ]) {}
    }
}
