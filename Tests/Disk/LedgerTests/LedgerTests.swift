import Foundation
import Logging
import TestSupport
import Testing
import UploadCore

@testable import Ledger

struct LedgerTests {
    private let directory: TemporaryDirectory
    private let ledger: Ledger

    init() throws {
        directory = try TemporaryDirectory()
        ledger = try openLedger(directory.path("state"))
    }

    @Test func directoryAndFilesAreForTheOwnerAlone() throws {
        #expect(try permissions("state") == 0o700)
        #expect(try permissions("state/ledger.lmdb") == 0o600)
        #expect(try permissions("state/ledger.lmdb-lock") == 0o600)
    }

    @Test func whatWasAwaitedIsThereAfterAKill() async throws {
        await ledger.commit([.drop(fullDrop(try path("a.jpg"))), .upload(sampleUpload())])
        let killed = try copyOfLedger(in: directory.path("state"))
        let again = try openLedger(killed.path)
        #expect(try again.drop(at: path("a.jpg")) == fullDrop(path("a.jpg")))
        #expect(try again.upload(sampleKey) == sampleUpload())
        #expect(try again.digestSecret() == ledger.digestSecret())
    }

    @Test func aForgottenDropIsGoneFromItsContentToo() async throws {
        await ledger.commit([.drop(fullDrop(try path("a"))), .drop(fullDrop(try path("b")))])
        #expect(try Set(ledger.drops(of: sampleKey)) == [path("a"), path("b")])
        await ledger.commit([.forgetDrop(try path("a"))])
        #expect(try ledger.drop(at: path("a")) == nil)
        #expect(try ledger.drops(of: sampleKey) == [path("b")])
        #expect(try ledger.anyDrop(of: sampleKey)?.path == path("b"))
    }

    @Test func aDropWhoseKeyChangesLeavesItsOldContent() async throws {
        await ledger.commit([.drop(fullDrop(try path("a")))])
        var changed = fullDrop(try path("a"))
        changed.key = ContentKey(high: 1, low: 1)
        await ledger.commit([.drop(changed)])
        #expect(try ledger.drops(of: sampleKey) == [])
        #expect(try ledger.anyDrop(of: sampleKey) == nil)
        #expect(try ledger.drops(of: ContentKey(high: 1, low: 1)) == [path("a")])
    }

    @Test func fragmentPagesAreJoinedAndCutToThePlan() async throws {
        let plan = FragmentPlan(size: 5000 * UInt64(FragmentPlan.sectionSize))
        await ledger.commit([
            .fragments(sampleKey, FragmentPage(index: 0, words: [0b101], receipts: [2: "etag"])),
            .fragments(sampleKey, FragmentPage(index: 1, words: [UInt64](repeating: .max, count: 64))),
        ])
        let stored = try ledger.fragments(of: sampleKey, plan: plan)
        #expect(stored.acknowledged.count == 2 + (5000 - 4096))
        #expect(stored.acknowledged.contains(2) && stored.acknowledged.contains(4999))
        #expect(stored.receipts == [2: "etag"])
        await ledger.commit([.forgetFragments(sampleKey)])
        #expect(try ledger.fragments(of: sampleKey, plan: plan).acknowledged.count == 0)
    }

    @Test func digestsAreFoundByBlockAndGoWithTheUpload() async throws {
        await ledger.commit([.digests(sampleKey, (0..<5000).map { UInt64($0) * 3 })])
        #expect(try ledger.digest(of: sampleKey, block: 4999) == 14997)
        #expect(try ledger.digest(of: sampleKey, block: 5000) == nil)
        #expect(try ledger.digests(of: sampleKey, blocks: 4000..<4200) == (4000..<4200).map { UInt64($0) * 3 })
        #expect(try ledger.digests(of: sampleKey, blocks: 4999..<9000) == [14997])
        #expect(try ledger.digests(of: sampleKey, blocks: 7..<7) == [])
        await ledger.commit([.forgetUpload(sampleKey)])
        #expect(try ledger.digest(of: sampleKey, block: 0) == nil)
    }

    @Test func aConfirmationBelongsToOneScope() async throws {
        await ledger.commit([.confirmation(sampleConfirmation())])
        #expect(try ledger.confirmation(of: sampleKey, scope: sampleScope) == sampleConfirmation())
        #expect(try ledger.confirmation(of: sampleKey, scope: RemoteScope("other")) == nil)
        await ledger.commit([.forgetConfirmation(sampleKey, sampleScope)])
        #expect(try ledger.confirmation(of: sampleKey, scope: sampleScope) == nil)
    }

    @Test func aSettingIsKeptUntilItIsRemoved() async throws {
        await ledger.commit([.setting("paused", [1])])
        #expect(try ledger.setting("paused") == [1])
        await ledger.commit([.setting("paused", nil)])
        #expect(try ledger.setting("paused") == nil)
    }

    @Test func pathsWhoseHashesCollideAreKeptApart() async throws {
        let colliding = try Ledger(
            directory: directory.path("colliding"), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            mapSize: 64 << 20, drops: DropTable(hash: { _ in 1 }), onTrouble: { _ in })
        for name in ["a", "b", "c"] { await colliding.commit([.drop(fullDrop(try path(name)))]) }
        await colliding.commit([.forgetDrop(try path("a")), .drop(fullDrop(try path("c"), state: .failed))])
        #expect(try colliding.drop(at: path("a")) == nil)
        #expect(try colliding.drop(at: path("b"))?.state == .done)
        #expect(try colliding.drop(at: path("c"))?.state == .failed)
    }

    @Test func aHundredThousandDropsAreWalkedOnceEach() async throws {
        for start in stride(from: 0, to: 100_000, by: 1000) {
            let writes = try (start..<start + 1000).map {
                try LedgerWrite.drop(
                    DropRecord(path: path("d/\($0)"), state: .queued, acceptedAt: .init(milliseconds: 1)))
            }
            ledger.commit(writes) {}
        }
        await ledger.commit([])
        var seen: Set<RelativePath> = []
        try ledger.forEachDrop { drop in
            seen.insert(drop.path)
            return true
        }
        #expect(seen.count == 100_000)
    }

    @Test func aDamagedDropIsReportedAndTheWalkGoesOn() async throws {
        await ledger.commit([.drop(fullDrop(try path("a"))), .drop(fullDrop(try path("b")))])
        let slot = DropTable().prefix(of: try path("a")) + [0]
        try ledger.environment.write { transaction throws(LMDBError) in
            try transaction.put(LedgerTable.drops.table, slot, [1, 2, 3])
        }
        var names: [String] = []
        var damages: [LedgerError] = []
        try ledger.forEachDrop(
            {
                names.append("\($0.path)"); return true
            }, damaged: { damages.append($0) })
        #expect(names == ["b"])
        #expect(damages == [.damagedRecord(table: .drops, key: slot)])
        #expect(try ledger.drop(at: path("a")) == nil)
    }

    private func permissions(_ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: directory.path(name))[.posixPermissions] as? Int
    }

    /// LMDB limits keys to 511 bytes.
    @Test func idsToDeleteMayHaveFourKilobytes() async throws {
        let other = RemoteScope("s3 https://s3.example/pictures bob")
        let text = String(repeating: "/upload", count: 585)
        #expect(text.utf8.count > 4094)
        let (long, longer) = (RemoteHandle(id: text + "a"), RemoteHandle(id: text + "ab"))
        let (short, part) = (RemoteHandle(id: "8"), RemoteHandle(id: "8", object: text))
        #expect(
            await ledger.commit([.removal(long, sampleScope), .removal(longer, sampleScope), .removal(short, other)]))
        #expect(
            await ledger.commit([
                .removal(short, sampleScope), .removal(part, sampleScope), .removal(long, sampleScope),
            ]))
        #expect(try Set(ledger.removals(for: sampleScope)) == [long, longer, short, part])
        #expect(await ledger.commit([.forgetRemoval(short, sampleScope), .forgetRemoval(longer, sampleScope)]))
        #expect(try Set(ledger.removals(for: sampleScope)) == [long, part])
        #expect(try ledger.removals(for: other) == [short])
    }

    @Test func productsAreFoundByOriginalAndRecipe() async throws {
        let (small, none) = (sampleProduct(), sampleProduct("strip location", made: false))
        await ledger.commit([.product(small), .product(none)])
        let original = small.product.original
        #expect(try ledger.product(of: original, recipe: "jpeg quality=85") == small)
        #expect(try ledger.product(of: original, recipe: "strip location") == none)
        #expect(try ledger.product(of: original, recipe: "jpeg quality=80") == nil)
        #expect(try ledger.products(of: original) == [sampleKey])
        #expect(try ledger.products(of: sampleKey) == [])
    }
}
