import Clocks
import AgentTestSupport
import ControlAPI
import Foundation
import Ledger
import Logging
import Sidecars
import TestSupport
import Testing
import UploadCore

@testable import Agent
@testable import Intake

/// The values that reports are made of, filled by the test. The ledger is empty at first.
struct ReportStage {
    static let scope = RemoteScope("test http://127.0.0.1 ben")

    let place: TemporaryDirectory
    let ledger: Ledger
    let sidecars: SidecarWriter
    let events: EventHub
    let clock = HandClock()
    let core: AgentCore
    var portraits: [RelativePath: PortraitReport] = [:]
    var transfers = TransferFigures()
    let log = RecordedLog()
    private let logger: Logger

    init() throws {
        logger = log.logger
        place = try TemporaryDirectory()
        ledger = try Ledger(directory: place.path("state"), logger: logger, onTrouble: { _ in })
        try FileManager.default.createDirectory(
            atPath: place.path("outbox/sea"), withIntermediateDirectories: true)
        let files = OutboxFiles(root: place.path("outbox"))
        sidecars = SidecarWriter(
            store: SidecarStore(beside: files.outbox), writesRejected: true, clock: clock, logger: logger)
        events = EventHub(clock: clock, ledger: "ledger", outcome: 0)
        let sources = AgentCore.Sources(
            ledger: ledger, files: files, sidecars: sidecars,
            rules: IntakeRules(mediaOnly: false, maxFileSize: 1 << 30, ignore: []), scope: Self.scope, logger: logger)
        let limits = UploadLimits(filesInFlight: 2, fragmentsInFlight: 2, retryInterval: .seconds(120))
        core = AgentCore(
            sources, rules: PathBook.Rules(portraitFolder: RelativePath("portrait"), retention: .seconds(3600)),
            machine: UploadMachine(
                limits: limits, traits: RemoteTraits(batch: 50, lookahead: 50), scope: Self.scope, seed: 1, window: 100)
        )
        own("ben")
    }

    var book: PathBook {
        get { core.book }
        nonmutating set { core.book = newValue }
    }
    var posts: Posts { core.posts }
    var machine: UploadMachine { core.machine }

    var reporter: Reporter { Reporter(sidecars: sidecars, events: events, logger: logger) }

    var world: ReportWorld {
        ReportWorld(
            core: core, portraits: portraits, transfers: transfers, requestCount: 0,
            context: ReportContext(remoteProtocol: "test", now: clock.now.wall), now: clock.now.monotonic)
    }

    /// Signs an account in.
    mutating func own(_ account: String) {
        core.book.ownership = Ownership(present: account)
        core.posts.ownership = core.book.ownership
    }

    /// Returns a record of a file with two fragments.
    func record(_ name: String, _ state: FileState = .queued, account: String = "ben") throws -> DropRecord {
        let path = try #require(RelativePath(name))
        var record = DropRecord(path: path, state: state, acceptedAt: clock.now.wall)
        record.account = account
        record.identity = FileIdentity(device: 1, inode: 2, size: size, modified: 3, changed: 4, born: 5)
        if state != .settling && state != .hashing { record.key = ContentKey(high: 1, low: 1) }
        return record
    }

    let size = UInt64(2 * FragmentPlan.sectionSize)

    /// Adds a file to the path book. Returns its record.
    @discardableResult
    mutating func add(_ name: String, _ state: FileState = .queued, account: String = "ben") throws -> DropRecord {
        let record = try record(name, state, account: account)
        _ = core.book.keep(record)
        return record
    }

    /// Writes a file into the outbox.
    func write(_ name: String) throws {
        let file = URL(fileURLWithPath: place.path("outbox/" + name))
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data([1]).write(to: file)
    }

    /// Lets a file wait for its upload.
    @discardableResult
    mutating func join(_ record: DropRecord, paused: Bool = false) throws -> [MachineAction] {
        let content = DropContent(key: try #require(record.key), seal: ContentSeal(size: size, digest: 1))
        return handle(.join(record.path, content, paused: paused))
    }

    /// Passes an event to the upload machine.
    @discardableResult
    mutating func handle(_ event: MachineEvent) -> [MachineAction] { core.machine.handle([event], now: clock.now) }

    /// Adds a post of one file, `sea/a.jpg`.
    mutating func addPost(
        _ stage: SourceRecord.Stage, isPaused: Bool = false, account: String = "ben"
    ) throws -> RelativePath {
        let directory = try #require(RelativePath("sea"))
        var record = SourceRecord(
            id: "0123456789abcdef0123456789abcdef", directory: directory, account: account, stage: stage,
            acceptedAt: clock.now.wall)
        record.isPaused = isPaused
        record.revision = 1
        record.files = [try #require(RelativePath("a.jpg")): ContentKey(high: 1, low: 1)]
        _ = core.posts.restore([record], isOtherServer: false, now: clock.now, facts: core)
        return directory
    }
}
