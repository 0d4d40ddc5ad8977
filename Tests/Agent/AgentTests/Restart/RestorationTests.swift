import Clocks
import AgentTestSupport
import Foundation
import Ledger
import Logging
import Session
import Sidecars
import TestSupport
import Testing

@testable import Agent
@testable import Intake
@testable import UploadCore

@Suite("Restoration after a restart")
struct RestorationTests {
    private static let server = "test http://127.0.0.1"

    private let place: TemporaryDirectory
    private let ledger: Ledger
    private let acknowledgements: AcknowledgementLog
    private let key = ContentKey(high: 1, low: 1)
    private let other = ContentKey(high: 2, low: 2)
    private let third = ContentKey(high: 3, low: 3)
    private let others = LedgerWrite.setting(LedgerSetting.others, [1])
    private let noOthers = LedgerWrite.setting(LedgerSetting.others, nil)
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    init() throws {
        place = try TemporaryDirectory()
        ledger = try Ledger(directory: place.path("state"), logger: logger, onTrouble: { _ in })
        acknowledgements = try AcknowledgementLog(path: place.path("acknowledged"))
        try FileManager.default.createDirectory(atPath: place.path("outbox"), withIntermediateDirectories: true)
    }

    private func scope(_ account: String) -> RemoteScope { RemoteScope("\(Self.server) \(account)") }

    /// Stores writes in the ledger, as the last run, and restores them.
    private func restore(
        _ writes: [LedgerWrite] = [], account: String = "anna", server: String = Self.server,
        rules: IntakeRules = Self.rules
    ) async throws -> Restoration {
        await ledger.commit(writes)
        let scope = RemoteScope("\(server) \(account)")
        let files = OutboxFiles(root: place.path("outbox"))
        let clock = HandClock()
        let sources = AgentCore.Sources(
            ledger: ledger, files: files,
            sidecars: SidecarWriter(
                store: SidecarStore(beside: files.outbox), writesRejected: true, clock: clock, logger: logger),
            rules: rules, scope: scope, logger: logger)
        let book = PathBook.Rules(portraitFolder: RelativePath("portrait"), retention: .seconds(3600))
        let core = AgentCore(
            sources, rules: book,
            machine: UploadMachine(limits: limits, traits: ScriptedRemote().traits, scope: scope, seed: 1, window: 100))
        var restoration = try Restoration(
            core, try settings(account, server: scope.place, rules: rules), acknowledgements: acknowledgements,
            now: clock.now)
        restoration.restoreDrops()
        try restoration.restoreUploads()
        return restoration
    }

    private static let rules = IntakeRules(mediaOnly: false, maxFileSize: 1 << 30, ignore: [])

    private let limits = UploadLimits(filesInFlight: 2, fragmentsInFlight: 2, retryInterval: .seconds(120))

    private func settings(
        _ account: String = "anna", server: String? = nil, rules: IntakeRules = Self.rules,
        portraitFolder: String = "portrait", hasPauseMark: Bool = false
    ) throws -> RestoredSettings {
        let store = SessionStore(stateDirectory: place.path("state"))
        return try RestoredSettings(
            ledger, account: Account(name: account, session: store, change: {}),
            server: server ?? scope(account).place, rules: rules.fingerprint, recipes: [],
            portraitFolder: RelativePath(portraitFolder), hasPauseMark: hasPauseMark)
    }

    /// The settings that a run of Anna leaves.
    private var lastRun: [LedgerWrite] {
        get throws { try settings().writes }
    }

    private func path(_ name: String) throws -> RelativePath { try #require(RelativePath(name)) }

    private func drop(
        _ name: String, _ state: FileState = .queued, _ key: ContentKey? = nil, account: String? = "anna"
    ) throws -> DropRecord {
        var record = DropRecord(path: try path(name), state: state, acceptedAt: WallTime(milliseconds: 1))
        record.key = key
        record.account = account
        record.identity = FileIdentity(device: 1, inode: 1, size: 800_000, modified: 1, changed: 1, born: 1)
        return record
    }

    private func upload(_ key: ContentKey, _ account: String = "anna") -> UploadRecord {
        var record = UploadRecord(
            key: key, seal: ContentSeal(size: 800_000, digest: 1), plan: FragmentPlan(size: 800_000),
            scope: scope(account), order: 1)
        record.handle = RemoteHandle(id: "7")
        return record
    }

    // MARK: Paths and uploads

    @Test("leaves uploads to the ledger, from which the machine reads them at its first event")
    func queue() async throws {
        let writes: [LedgerWrite] =
            try lastRun + [.drop(drop("a", .queued, key)), .drop(drop("b", .queued, key)), .upload(upload(key))]
        let found = try await restore(writes)
        #expect(found.core.machine.hasBacklog)
        #expect(found.core.machine.keys.isEmpty)
        #expect(found.core.book.drops.isEmpty)
        #expect(found.writes == [])
        var machine = found.core.machine
        _ = machine.handle([.tick], now: HandClock().now, stored: found.core)
        #expect(machine.waiters(of: key).sorted() == [try path("a"), try path("b")])
        #expect(!machine.hasBacklog)
    }

    @Test("restores an upload at once if one of its paths is paused")
    func paused() async throws {
        let writes: [LedgerWrite] =
            try lastRun + [
                .drop(drop("a", .queued, key)), .drop(drop("b", .paused, key)), .upload(upload(key)),
            ]
        let found = try await restore(writes)
        #expect(found.core.machine.waiters(of: key).sorted() == [try path("a"), try path("b")])
        #expect(found.core.machine.isPaused(try path("a"), of: key) == false)
        #expect(found.core.machine.isPaused(try path("b"), of: key) == true)
        #expect(found.core.book.drops.count == 2)
        #expect(found.writes == [])
        #expect(found.core.stored.takeError() == nil)
    }

    @Test("adds acknowledgements that the last run could not store, and ignores those of an earlier registration")
    func acknowledged() async throws {
        let record = upload(key)
        var former = record
        former.handle = RemoteHandle(id: "6")
        _ = acknowledgements.append([
            AcknowledgementLog.Entry(fragment: 1, of: record), AcknowledgementLog.Entry(fragment: 0, of: former),
        ])
        let found = try await restore(lastRun + [.drop(drop("a", .queued, key)), .upload(record)])
        #expect(found.core.machine.view(of: key, from: try path("a"))?.fragments.finished == 1)
        guard case .fragments(key, _)? = found.writes.first, found.writes.count == 1 else {
            Issue.record("\(found.writes)")
            return
        }
    }

    @Test("hashes a path again that has no upload, if it reads all paths")
    func startsOver() async throws {
        let writes: [LedgerWrite] = try lastRun + [.drop(drop("a", .queued, key)), others]
        let found = try await restore(writes)
        let record = try #require(found.core.book.drops[try path("a")])
        #expect(record.key == nil)
        #expect(record.state == .settling)
        #expect(found.writes == [noOthers, .forgetDrop(try path("a"))])
    }

    @Test("reads only the paths that nothing leads to, those of profile pictures and those of posts")
    func needed() async throws {
        var cancelled = try drop("cancelled", .cancelled, other)
        cancelled.error = .cancelledByUser
        var early = try drop("early", .settling)
        early.flags = .first
        let records = try [
            drop("a", .queued, key), drop("done", .done, other), drop("paused", .paused, key), cancelled, early,
            drop("portrait/a", .queued, other), drop("portrait/old", .done, other), drop("trip/a", .queued, third),
            drop("trip/b", .done, other),
        ]
        let post = SourceRecord(
            id: "1", directory: try path("trip"), account: "anna", stage: .draft, acceptedAt: WallTime(milliseconds: 1))
        let writes: [LedgerWrite] =
            try lastRun + records.map { .drop($0) } + [.upload(upload(key)), .upload(upload(third)), .source(post)]
        let found = try await restore(writes)
        #expect(
            found.core.book.drops.keys.sorted()
                == [try path("a"), try path("early"), try path("paused"), try path("portrait/a"), try path("trip/a")])
        #expect(found.core.machine.keys.sorted() == [key, third])
        #expect(!found.core.book.wishIndex.isEmpty)
        #expect(found.writes == [])
    }

    @Test("leaves a profile picture to its service")
    func portrait() async throws {
        let found = try await restore(lastRun + [.drop(drop("portrait/a", .queued, key))])
        #expect(found.core.book.drops[try path("portrait/a")]?.key == key)
        #expect(found.core.machine.waiters(of: key).isEmpty)
        #expect(found.writes == [])
    }

    @Test("reads all paths if the folder of profile pictures is another one")
    func otherPortraitFolder() async throws {
        await ledger.commit(try settings().writes)
        #expect(try !settings().readsAll)
        #expect(try settings(portraitFolder: "me").readsAll)
    }

    @Test("hashes a path again whose content was being verified")
    func verifying() async throws {
        var record = try drop("a", .queued, key)
        record.flags = .verifying
        let found = try await restore(lastRun + [.drop(record)])
        #expect(found.writes == [.forgetDrop(try path("a"))])
    }

    // MARK: Accounts

    @Test("parks the upload of another account, and resumes it for its owner")
    func parks() async throws {
        let writes: [LedgerWrite] = try lastRun + [.drop(drop("a", .queued, key)), .upload(upload(key))]
        let parking = try await restore(writes, account: "ben")
        #expect(parking.writes == [others, .park(key)])
        #expect(parking.core.machine.record(of: key) == nil)
        #expect(parking.core.parked.entry(for: try path("a"))?.record == upload(key))
        #expect(try await restore(parking.writes, account: "ben").writes == [])
        let back = try await restore()
        #expect(back.writes == [noOthers, .unpark(key, scope("anna"))])
        #expect(Array(back.core.machine.waiters(of: key)) == [try path("a")])
    }

    @Test("parks another account's upload with the acknowledgements that the last run could not store")
    func parksAcknowledged() async throws {
        let record = upload(key)
        _ = acknowledgements.append([AcknowledgementLog.Entry(fragment: 1, of: record)])
        let parking = try await restore(
            lastRun + [.drop(drop("a", .queued, key)), .upload(record)], account: "ben"
        )
        #expect(parking.core.parked.entry(for: try path("a"))?.acknowledged.count == 1)
        acknowledgements.clear()
        let back = try await restore(parking.writes)
        #expect(back.core.machine.view(of: key, from: try path("a"))?.fragments.finished == 1)
    }

    @Test("drops a parked upload that no path waits for")
    func unwantedParked() async throws {
        let writes: [LedgerWrite] = [.upload(upload(key)), .park(key)]
        let found = try await restore(writes, account: "ben")
        #expect(found.writes == [.forgetParked(key, scope("anna"))])
    }

    // MARK: Final states

    @Test("forgets the outcomes of another server, except cancellations")
    func otherServer() async throws {
        var cancelled = try drop("c", .cancelled, other)
        cancelled.error = .cancelledByUser
        let writes: [LedgerWrite] = try lastRun + [.drop(drop("a", .done, key)), .drop(cancelled)]
        let found = try await restore(writes, server: "test http://other")
        #expect(found.writes == [.forgetDrop(try path("a"))])
    }

    @Test("judges rejected files again if the rules changed, and only then")
    func rules() async throws {
        let rejected = try drop("a", .rejected)
        let writes: [LedgerWrite] = try lastRun + [.drop(rejected)]
        #expect(try await restore(writes).writes == [])
        let stricter = IntakeRules(mediaOnly: true, maxFileSize: 1 << 30, ignore: [])
        let found = try await restore(rules: stricter)
        #expect(found.writes == [.forgetDrop(rejected.path)])
    }

    // MARK: Removals and settings

    @Test("continues to delete uploads of this account on the server")
    func removals() async throws {
        let writes: [LedgerWrite] =
            try lastRun + [
                .removal(RemoteHandle(id: "8"), scope("anna")), .removal(RemoteHandle(id: "9"), scope("ben")),
            ]
        var machine = try await restore(writes).core.machine
        let actions = machine.handle([.tick], now: HandClock().now)
        let removed = actions.compactMap { if case .remove(_, let handles) = $0 { handles.map(\.id) } else { nil } }
        #expect(removed == [["8"]])
    }

    @Test(
        "a pause survives in the ledger; the mark beside a lost ledger counts too",
        arguments: [
            (false, false, false, false), (true, false, false, true), (false, true, false, false),
            (false, true, true, true), (false, false, true, false),
        ])
    func pause(inLedger: Bool, hasMark: Bool, isLost: Bool, isPaused: Bool) async throws {
        await ledger.commit([
            .setting(LedgerSetting.allPaused, inLedger ? [1] : nil),
            .setting(LedgerSetting.recovery, isLost ? Array("lost".utf8) : nil),
        ])
        let settings = try settings(hasPauseMark: hasMark)
        #expect(settings.isPaused == isPaused)
        #expect(settings.recoveryNotice == (isLost ? "lost" : nil))
        #expect(settings.writes.contains(.setting(LedgerSetting.allPaused, isPaused ? [1] : nil)))
        let events: [MachineEvent] = isPaused ? [.setAllPaused(true), .tick] : [.tick]
        #expect(settings.events([], isSignedOut: false) == events)
        let gathered = MachineEvent.gather("1", [])
        let first = settings.events([gathered], isSignedOut: true)
        let paused: [MachineEvent] = isPaused ? [.setAllPaused(true)] : []
        #expect(first == [.setSignedOut(SessionKeeper.signedOut)] + paused + [gathered, .tick])
    }
}
