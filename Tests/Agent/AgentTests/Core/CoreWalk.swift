import AgentTestSupport
import Foundation
import Intake
import Ledger
import Logging
import Session
import Sidecars
import TestSupport
import Testing

@testable import Agent
@testable import FileWatch
@testable import UploadCore

/// A core with a real ledger and a real directory. Watch, hash pool, server and users behave at random. A kill discards
/// the core and every decision that is not durable.
final class CoreWalk {
    /// What a kill discards.
    private struct Life {
        let ledger: Ledger
        let core: AgentCore
        var intake = WatchIntake()
        /// Decisions that are not durable.
        var unsaved: [AgentCore.Decision] = []
        /// The paths that the watch will report.
        var settling: Set<RelativePath> = []
        var hashing: [(path: RelativePath, identity: FileIdentity, job: UInt64)] = []
        /// Requests without an answer.
        var requests: [MachineAction] = []
        /// Events that wait until everything queued is done.
        var later: [AgentEvent] = []
        var watchesForToken = false
    }

    private static let names = ["a", "b", "trip/a", "trip/b", "trip/more/a", "post/a", "post/b", "post/more/c"]
    private static let directories = ["trip", "post", "elsewhere", "post/more"]
    private static let scope = RemoteScope("test http://127.0.0.1 default")
    private static let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    /// A content that the rules reject.
    private static let rejected: UInt8 = 5

    private let place: TemporaryDirectory
    private let files: OutboxFiles
    private let account: Account
    private let acknowledgements: AcknowledgementLog
    private let clock = HandClock.ahead(by: .seconds(3600))
    private let window: Int
    private var random: SeededRandom
    private var server = CoreWalkServer()
    private var life: Life
    /// The number of events that the cores handled.
    private(set) var eventCount = 0
    private(set) var kills = 0
    /// The first broken promise.
    private(set) var problem: String?

    init(seed: UInt64) async throws {
        random = SeededRandom(seed: seed)
        // Sometimes the machine holds few waiting uploads, and the ledger the others.
        window = seed % 3 == 0 ? 2 : 100
        place = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: place.path("outbox"), withIntermediateDirectories: true)
        files = OutboxFiles(root: place.path("outbox"))
        acknowledgements = try AcknowledgementLog(path: place.path("acknowledged"))
        account = Account(
            name: "default", session: SessionStore(stateDirectory: place.path("state")), change: {})
        life = try Self.begin(place, files, clock, window: window)
        try await start()
    }

    private var core: AgentCore { life.core }

    // MARK: One step

    func step() async throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<12: try write()
        case 12..<16: try remove()
        case 16..<21: try rename()
        case 21..<23: try renameDirectory()
        case 23..<29: act()
        case 29..<32: try describePost()
        case 32..<48: settleOne()
        case 48..<60: endHash()
        case 60..<80: answerOne()
        case 80..<90: await makeDurable(Int.random(in: 1...40, using: &random))
        case 90..<94: pass(.milliseconds(Int.random(in: 1...40_000, using: &random)))
        case 94: try scan()
        case 95: server.mood = random.oneIn(2) ? .fine : random.pick(CoreWalkServer.Mood.allCases) ?? .fine
        case 96 where random.oneIn(3): try await kill()
        case 97 where server.mood != .refusing: signIn()
        default: handleLater()
        }
        checkWaits()
    }

    // MARK: Users

    private func write() throws {
        guard let name = random.pick(Self.names) else { return }
        let number = UInt8.random(in: 0...Self.rejected, using: &random)
        let url = URL(fileURLWithPath: place.path("outbox/\(name)"))
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        // In place or under a new inode.
        if random.oneIn(2) { try? FileManager.default.removeItem(at: url) }
        try Data([number]).write(to: url)
        if random.oneIn(4) {
            let file = try FileHandle(forWritingTo: url)
            try file.truncate(atOffset: 600_000)
            try file.close()
        }
        let path = try self.path(name)
        tell(.seen(path))
        life.settling.insert(path)
    }

    private func remove() throws {
        guard let name = random.pick(try present()) else { return }
        try FileManager.default.removeItem(atPath: place.path("outbox/\(name)"))
        tell(.gone(try path(name)))
    }

    private func rename() throws {
        guard let old = random.pick(try present()), let new = random.pick(Self.names), old != new else { return }
        let target = URL(fileURLWithPath: place.path("outbox/\(new)"))
        try FileManager.default.createDirectory(
            at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
        guard Foundation.rename(place.path("outbox/\(old)"), target.path) == 0 else { return }
        tell(.renamed(from: try path(old), to: try path(new), isDirectory: false))
        life.settling.insert(try path(new))
    }

    private func renameDirectory() throws {
        guard let old = random.pick(Self.directories), let new = random.pick(Self.directories), old != new,
            !FileManager.default.fileExists(atPath: place.path("outbox/\(new)")),
            Foundation.rename(place.path("outbox/\(old)"), place.path("outbox/\(new)")) == 0
        else { return }
        let (source, target) = (try path(old), try path(new))
        tell(.renamed(from: source, to: target, isDirectory: true))
        for path in life.settling {
            guard let moved = path.moved(from: source, to: target) else { continue }
            life.settling.remove(path)
            life.settling.insert(moved)
        }
    }

    private func describePost() throws {
        guard FileManager.default.fileExists(atPath: place.path("outbox/post")) else { return }
        let description = place.path("outbox/post/source.toml")
        if random.oneIn(4) {
            if (try? FileManager.default.removeItem(atPath: description)) != nil {
                tell(.gone(try path("post/source.toml")))
            }
            return
        }
        try Data("title = \"t\"\n\(random.oneIn(3) ? "state = \"draft\"\n" : "")".utf8).write(
            to: URL(fileURLWithPath: description))
        tell(.seen(try path("post/source.toml")))
        life.settling.insert(try path("post/source.toml"))
    }

    private func act() {
        guard let action = random.pick([UserAction.pause, .resume, .resume, .cancel, .retry, .retry, .first]) else {
            return
        }
        if random.oneIn(10) { return handle(.setAllPaused(random.oneIn(2))) }
        if random.oneIn(6), let directory = core.posts.directories.min() {
            return handle(.posts(.wish(random.oneIn(2) ? .submit : action, directory)))
        }
        guard let name = random.pick(Self.names), let path = RelativePath(name) else { return }
        handle(.path(.act(action, path, isByName: random.oneIn(2))))
    }

    // MARK: The watch

    private func tell(_ event: WatchEvent) {
        perform(life.intake.take(event, core))
        while let steps = life.intake.nextMove(core) { perform(steps) }
    }

    private func settleOne() {
        guard let path = random.pick(life.settling.sorted()) else { return }
        life.settling.remove(path)
        if let status = try? files.status(of: path) { tell(.ready(path, status)) } else { tell(.gone(path)) }
    }

    /// Reports a full scan. As in the watch, files that the ledger knows as they are count as found.
    private func scan() throws {
        var summary = ScanSummary()
        for name in try present(withDescriptions: true) {
            let path = try path(name)
            summary.insert(path)
            let status = try files.status(of: path)
            let record = try life.ledger.drop(at: path)
            if record?.key == nil || record?.identity != FileIdentity(status) { tell(.ready(path, status)) }
        }
        tell(.scanned(summary))
    }

    // MARK: Hashing

    private func endHash() {
        guard !life.hashing.isEmpty else { return }
        let job = life.hashing.remove(at: Int.random(in: 0..<life.hashing.count, using: &random))
        handle(.path(.hashed(job.path, job: job.job, as: job.identity, finding(job.path, job.identity))))
    }

    private func finding(_ path: RelativePath, _ identity: FileIdentity) -> HashFinding {
        guard let content = content(of: path) else { return .missing }
        guard content.identity == identity else { return .changed }
        if server.isFlaky, random.oneIn(40) {
            return .unreadable(FileError(code: "unreadable", message: "EIO", retryable: true))
        }
        if content.number == Self.rejected {
            return .rejected(identity, nil, FileError(code: "not_media", message: "no", retryable: false))
        }
        let drop = DropContent(key: content.key, seal: ContentSeal(size: identity.size, digest: content.key.high))
        return .content(identity, MediaType(kind: .image, mime: "image/jpeg"), drop, digests: [1])
    }

    private func content(of path: RelativePath) -> (number: UInt8, key: ContentKey, identity: FileIdentity)? {
        guard let status = try? files.status(of: path), let bytes = try? files.read(path, atMost: 1),
            let number = bytes.first
        else { return nil }
        let identity = FileIdentity(status)
        return (number, ContentKey(high: UInt64(number) + 1, low: identity.size), identity)
    }

    // MARK: The server

    private func answerOne() {
        guard !life.requests.isEmpty else { return }
        let request = life.requests.remove(at: Int.random(in: 0..<life.requests.count, using: &random))
        let core = self.core
        let events = server.answer(
            request, record: { core.machine.record(of: $0) }, problem: { sourceProblem(of: $0) }, &random)
        if !events.isEmpty { handle(.uploads(events)) }
    }

    private func signIn() {
        guard life.watchesForToken else { return }
        let wasSignedOut = core.machine.signedOut != nil
        perform(
            SessionSteps.credentialsChanged(
                isLogout: false, isSignedOut: false, wasSignedOut: wasSignedOut, isReported: true))
        life.watchesForToken = false
    }

    /// Why no path of a content has its bytes; `nil` if one has.
    private func sourceProblem(of key: ContentKey) -> SourceProblem? {
        let waiters = core.machine.waiters(of: key).sorted()
        if waiters.contains(where: { content(of: $0)?.key == key }) { return nil }
        return waiters.first.map {
            SourceProblem(path: $0, kind: content(of: $0) == nil ? .missing : .changed)
        }
    }

    // MARK: Decisions

    private func handle(_ event: AgentEvent) {
        eventCount += 1
        let decision = core.handle([event], now: clock.now)
        if decision.writes.isEmpty, life.unsaved.isEmpty { return perform(decision.steps.map(\.step)) }
        life.unsaved.append(decision)
        perform(decision.atOnce)
    }

    private func perform(_ steps: [AgentStep]) {
        for step in steps {
            switch step {
            case .handle(let event): handle(event)
            case .handleLater(let event): life.later.append(event)
            case .settle(let path): life.settling.insert(path)
            case .hash(let path, let identity, let job): life.hashing.append((path, identity, job))
            case .request(.cancel(let ids)):
                life.requests.removeAll { $0.requestID.map(ids.contains) ?? false }
            case .request(let request): begin(request)
            case .takeAgain(let path, let key):
                if core.book.drops[path]?.key == key { handle(.path(.lookAgain(path))) }
            case .readDescription(let directory):
                handle(.posts(.read(directory, SourceDescriptionReader(files: files).read(directory))))
            case .endCommit(let id, let revision, let outcome):
                handle(.posts(.commitEnded(id: id, revision: revision, outcome)))
            case .watchForToken: life.watchesForToken = true
            case .stopWatchingForToken: life.watchesForToken = false
            // Reports, log lines, thumbnails and the like: nothing comes back from them.
            default: break
            }
        }
    }

    private func begin(_ request: MachineAction) {
        life.requests.append(request)
        guard let id = request.requestID else { return }
        // A later decision may have given up what this request is for.
        for key in request.keys where core.machine.requests[id]?.keys.contains(key) == true {
            let stored = try? life.ledger.upload(key)
            let confirmed = try? life.ledger.confirmation(of: key, scope: Self.scope)
            if stored == nil, confirmed == nil { fail("began \(request) before the upload was durable") }
        }
    }

    private func handleLater() {
        if !life.later.isEmpty { handle(life.later.removeFirst()) }
    }

    private func pass(_ time: Duration) {
        clock.advance(by: time)
        handle(.tick)
    }

    /// Makes the next decisions durable, and carries out what waited for them.
    private func makeDurable(_ count: Int = .max) async {
        for _ in 0..<count {
            guard let decision = life.unsaved.first else { return }
            _ = await life.ledger.commit(decision.writes)
            life.unsaved.removeFirst()
            perform(decision.onceDurable)
            core.saved(decision)
        }
    }

    // MARK: Kills

    private static func begin(
        _ place: TemporaryDirectory, _ files: OutboxFiles, _ clock: HandClock, window: Int
    ) throws -> Life {
        let ledger = try Ledger(directory: place.path("state"), logger: logger, onTrouble: { _ in })
        let sources = AgentCore.Sources(
            ledger: ledger, files: files,
            sidecars: SidecarWriter(
                store: SidecarStore(beside: files.outbox), writesRejected: true, clock: clock, logger: logger),
            rules: IntakeRules(mediaOnly: false, maxFileSize: 1 << 30, ignore: []), scope: scope, logger: logger)
        let core = AgentCore(
            sources, rules: PathBook.Rules(retention: .seconds(3600)),
            machine: UploadMachine(
                limits: UploadLimits(filesInFlight: 2, fragmentsInFlight: 2, retryInterval: .seconds(120)),
                traits: RemoteTraits(batch: 50, lookahead: 50), scope: scope, seed: 1, window: window))
        return Life(ledger: ledger, core: core)
    }

    private func kill() async throws {
        kills += 1
        life.ledger.close()
        // A request under way may reach the server all the same.
        for request in life.requests where random.oneIn(2) {
            let core = self.core
            _ = server.answer(
                request, record: { core.machine.record(of: $0) }, problem: { sourceProblem(of: $0) }, &random)
        }
        life = try Self.begin(place, files, clock, window: window)
        try await start()
    }

    /// Starts like `Uploader.start`, up to the end of the first scan.
    private func start() async throws {
        let settings = try RestoredSettings(
            life.ledger, account: account, server: Self.scope.place, rules: core.sources.rules.fingerprint,
            recipes: core.book.rules.recipes.fingerprint, portraitFolder: nil, hasPauseMark: false)
        var restoration = try Restoration(core, settings, acknowledgements: acknowledgements, now: clock.now)
        restoration.restoreDrops()
        try restoration.restoreUploads()
        core.book.retention.restore(try life.ledger.setting(LedgerSetting.clock) ?? [])
        handle(.store(restoration.writes))
        await makeDurable()
        handle(.recogniseOutbox)
        handle(.uploads(settings.events(core.posts.gatherAll(), isSignedOut: false)))
        handle(.posts(.started))
        handle(.signedIn(isOther: settings.lastRun.isOtherAccount))
        handle(.store(settings.writes))
        await makeDurable()
        let core = self.core
        let waiting = core.stored.records { !$0.state.isFinal && core.book.drops[$0.path] == nil }
        handle(.startOver(waiting.compactMap(\.key)))
        try scan()
    }

    // MARK: Promises

    private func fail(_ text: String) { if problem == nil { problem = text } }

    /// Every path under way waits for something that will come.
    private func checkWaits() {
        guard problem == nil, life.unsaved.isEmpty, life.later.isEmpty else { return }
        let underWay = core.book.drops.keys.compactMap { core.record(of: $0) }
        for record in core.stored.records(where: { !$0.state.isFinal }) + underWay where wait(of: record) == nil {
            return fail("\(record.path) is \(record.state) and waits for nothing")
        }
        let isIdle = life.requests.isEmpty && core.nextDeadline(after: clock.now.monotonic) == nil
        let held = core.machine.isPaused || core.machine.signedOut != nil || life.watchesForToken
        guard isIdle, !held else { return }
        for key in core.machine.keys
        where core.machine.waiters(of: key)
            .contains(where: { core.machine.isPaused($0, of: key) == false })
        {
            return fail("the upload of \(key) waits for nothing")
        }
    }

    /// What a path that is not at rest waits for; `nil` if nothing will happen to it.
    private func wait(of record: DropRecord) -> String? {
        let path = record.path
        if record.state.isFinal { return "the expiry of its entry" }
        if files.isGone(path) { return "the end of the grace" }
        if life.settling.contains(path) { return "the watch" }
        let identity = content(of: path)?.identity
        if life.hashing.contains(where: { $0.path == path || $0.identity == identity }) { return "its hash" }
        if let key = record.key, core.isWaiting(path, for: key) { return "its upload" }
        if core.book.unread.wait(of: path) != nil { return "another attempt to read it" }
        if core.book.isAway(path) { return "its directory" }
        return nil
    }

    /// Lets everything end that can, and checks the result.
    func end() async throws {
        server.mood = .fine
        server.isFlaky = false
        signIn()
        handle(.setAllPaused(false))
        try scan()
        for _ in 0..<3000 where problem == nil {
            await makeDurable()
            if !life.later.isEmpty {
                handleLater()
            } else if !life.settling.isEmpty {
                settleOne()
            } else if !life.hashing.isEmpty {
                endHash()
            } else if !life.requests.isEmpty {
                answerOne()
            } else if life.unsaved.isEmpty, try present().allSatisfy(isAtRest) {
                break
            } else {
                let now = clock.now.monotonic
                pass(max(.milliseconds(1), (core.nextDeadline(after: now) ?? now + .seconds(1)) - now))
            }
            checkWaits()
        }
        for name in try present() where problem == nil { try check(name) }
    }

    private func isAtRest(_ name: String) -> Bool {
        guard let path = RelativePath(name), let record = core.record(of: path) else { return false }
        return record.state.isFinal || isPaused(record)
    }

    private func isPaused(_ record: DropRecord) -> Bool {
        record.key.map { core.machine.isPaused(record.path, of: $0) == true } ?? false
    }

    private func check(_ name: String) throws {
        let path = try self.path(name)
        guard let record = core.record(of: path) else { return fail("\(name) has no record") }
        let content = content(of: path)
        if record.identity != content?.identity { return fail("the record of \(name) is of another file") }
        switch record.state {
        case .done:
            if record.key != content?.key { return fail("\(name) is done with other bytes") }
            guard let key = record.key, server.object(of: key) != nil else { return fail("\(name) is done, not sent") }
        case .failed, .cancelled: break
        case .rejected: if content?.number != Self.rejected { fail("\(name) is rejected") }
        default:
            if !isPaused(record) {
                fail(
                    "\(name) ends as \(record.state): \(record.key.map { core.machine.view(of: $0, from: record.path) as Any } ?? "")  held \(record.key.map { (core.machine.holds($0), core.machine.waiters(of: $0), core.isPaused(record.path, for: $0)) as Any } ?? "") all \(core.machine.isPaused) signed out \(String(describing: core.machine.signedOut)) deadline \(core.nextDeadline(after: clock.now.monotonic) as Any) posts \(core.posts.directories) requests \(life.requests)"
                )
            }
        }
    }

    private func present(withDescriptions: Bool = false) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: place.path("outbox")).filter { name in
            var isDirectory = ObjCBool(false)
            _ = FileManager.default.fileExists(atPath: place.path("outbox/\(name)"), isDirectory: &isDirectory)
            return !isDirectory.boolValue && (withDescriptions || !name.hasSuffix("source.toml"))
        }.sorted()
    }

    private func path(_ name: String) throws -> RelativePath { try #require(RelativePath(name)) }
}

extension LedgerView {
    /// Returns the records of all paths that satisfy a condition.
    fileprivate func records(where isIncluded: (DropRecord) -> Bool) -> [DropRecord] {
        var records: [DropRecord] = []
        forEachRecord(within: .root) { if isIncluded($0) { records.append($0) } }
        return records
    }
}
