import Digests
import FileWatch
import Ledger
import LinuxSystem
import Logging
import Remotes
import Synchronization
import UploadCore

/// The one owner of what is known of paths and uploads: takes in what watch, hashing, server and user tell, lets
/// `UploadMachine` decide, and carries out what it decides, in the order *ledger first, action second*.
///
/// It runs on a thread of its own, since it reads the ledger and opens files. Every action waits until all that was
/// decided before it is durable.
actor Uploader {
    /// What the agent is made of, as far as the uploader needs it.
    struct Parts: Sendable {
        var ledger: Ledger
        var acknowledgements: AcknowledgementLog
        var remote: any Remote
        var files: OutboxFiles
        var rules: IntakeRules
        var holding: HoldingArea
        /// What becomes of a file once the server has confirmed its content.
        var afterUpload: Configuration.AfterUpload
        /// Where files are moved to, if they are; relative to the outbox.
        var moveTo: RelativePath
        var hashPool: HashPool
        var secret: DigestSecret
        var sidecars: SidecarWriter
        /// Measures pictures and videos; nil where that is not wanted.
        var media: (any MediaExamining)?
        /// Takes what is dropped in a folder of the outbox as the profile picture; nil where nothing is.
        var portrait: (service: PortraitService, folder: RelativePath)?
        /// Takes posts of several files; nil where the protocol has no such thing: a source is done with its files then.
        var sources: (any SourceRemote)?
        /// What happens, for those who follow it.
        var events: EventHub
        var credentials: Credentials
        /// Whether a token may be sent to this server at all.
        var tokenMayTravel = true
        var account: Account
        /// Remembers `pause --all` beside the ledger; nil where nothing does.
        var pauseMark: PauseMark?
        var retention: Duration
        var remoteProtocol: String
        /// Told by `/v1/health`.
        var version: String
        var processID: Int32
        var clock: any Clocks
        /// Told after everything that may have changed how the agent is; cheap.
        var onChange: @Sendable () -> Void = {}
        var logger: Logger
    }

    let thread = SerialThread(name: "uploader")
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    let parts: Parts
    nonisolated var events: EventHub { parts.events }
    /// Where the ledger is walked through for those who ask.
    let reader = SerialThread(name: "ledger-reader")
    var machine: UploadMachine
    /// What is known of paths.
    var book: PathBook
    /// What went wrong with the ledger while the path book asked.
    let ledgerTrouble = PathWorld.Trouble()
    /// What waits for accounts that are not signed in.
    var parked = ParkedUploads()
    /// Contents whose size and thumbnail are still to be had.
    var examinations = Examinations()
    let earlyLooks = EarlyLooks()
    /// Files that would leave the outbox but for their thumbnails.
    var waitsForThumbnail: Set<RelativePath> = []
    /// Set from any thread, so that no queue delays the end.
    private let isEnding = Atomic(false)
    /// What was told last of profile pictures on their way.
    var portraits: [RelativePath: PortraitReport] = [:]
    /// Directories that are one post each.
    var sources = SourceBook()
    /// What sources are still to be told, in order.
    var untold: [(directory: RelativePath, events: [SourceEvent])] = []
    var isTelling = false
    /// Files of sources of which the ledger knows nothing, until the first scan.
    var unfound: [RelativePath] = []
    /// Sources of which something new is to be told, and when.
    var changedSources: Set<RelativePath> = []
    var sourcesDue: MonotonicTime?
    var requests: [RequestID: Task<Void, Never>] = [:]
    var openFiles: [ContentKey: OpenSource] = [:]
    var speeds: [ContentKey: SpeedMeter] = [:]
    /// Bytes of fragments under way that the other end of the connection has acknowledged.
    var bytesInFlight = BytesInFlight()
    var reconsider: @Sendable (RelativePath) -> Void = { _ in }
    var watchCounters: @Sendable () -> WatchCounters = { WatchCounters() }
    var commitsUnderWay = 0
    /// Commits of acknowledgements alone, which nothing waits for.
    var quietCommitsUnderWay = 0
    /// How many commits under way change what is stored of an upload.
    var undurable: [ContentKey: Int] = [:]
    var alarm = Alarm()
    var tokenPoll: Task<Void, Never>?
    /// Confirmed posts whose directories left the outbox.
    var departedPosts = RecentTable<SourceRecord.DirectoryMark, SourceRecord>(generation: 64)
    /// Directories of sources in an outbox that was another directory, until they are found in this one.
    var sourcesElsewhere: Set<RelativePath> = []
    /// Paths whose sidecars are written once their files are here.
    var withheldSidecars: Set<RelativePath> = []
    var knownOutbox: [UInt8]?
    var unsaved = Unsaved()
    var counters = UploadCounters()
    var outcomes = OutcomeLog()
    /// Whether stray sidecars are being looked for.
    var isSweeping = false
    /// Whether the sidecars of another `sidecars.directory` were looked for in this run.
    var hasLeftFormerRoot = false
    /// How many paths there were by state when they were counted last.
    var counted: (at: MonotonicTime, files: [String: Int])?
    /// The names that files got last, by the ids of the names they had.
    var latestNames = RecentTable<String, RelativePath>(generation: 256)
    /// What the watch told and nobody has handled yet.
    let heard = BoundedQueue<WatchEvent>(capacity: 4096)
    /// Files of renamed directories that are still to get their new names, the next one last.
    var moves: [(old: RelativePath, new: RelativePath)] = []
    /// What needs a person's attention, by a word for each.
    var problems: [String: String] = [:] {
        didSet {
            for code in Set(problems.keys).union(oldValue.keys) where problems[code] != oldValue[code] {
                events.publish(problem: code, problems[code])
            }
        }
    }
    let startedAt: MonotonicTime

    /// An uploader with everything it needs; `start` brings back what the ledger holds.
    init(parts: Parts, limits: UploadLimits, seed: UInt64) {
        self.parts = parts
        book = PathBook(
            rules: PathBook.Rules(
                portraitFolder: parts.portrait?.folder, keepsFiles: parts.afterUpload == .keep,
                retention: parts.retention))
        machine = UploadMachine(limits: limits, traits: parts.remote.traits, scope: parts.remote.scope, seed: seed)
        startedAt = parts.clock.now.monotonic
    }

    var now: Now { parts.clock.now }

    /// Whose files are whose.
    var ownership: Ownership { book.ownership }

    /// Runs work on the uploader's thread, behind what waits there already.
    nonisolated func run(_ work: @escaping @Sendable (isolated Uploader) -> Void) {
        thread.run { self.assumeIsolated { work($0) } }
    }

    /// Whether the agent is ending: nothing new is begun.
    nonisolated var hasStopped: Bool { isEnding.load(ordering: .relaxed) }

    /// Begins nothing new from now on, and drops what the watch told.
    nonisolated func beginToEnd() {
        isEnding.store(true, ordering: .relaxed)
        heard.close()
    }

    /// Lets the machine take events in, makes its decisions durable and carries them out.
    ///
    /// - Parameters:
    ///   - writes: changes that belong into the same commit.
    ///   - paths: are reported once everything is durable.
    func process(_ events: [MachineEvent], writes: [LedgerWrite] = [], reporting paths: [RelativePath] = []) {
        let now = self.now
        let actions = machine.handle(events, now: now)
        var writes = writes
        for event in events { writes += parked.take(event) }
        for action in actions {
            switch action {
            case .write(let write): writes.append(write)
            case .ended(let path, let key, let outcome, let attempts):
                end(path, key, outcome, attempts: attempts, now: now, writes: &writes)
            default: break
            }
        }
        if paths.isEmpty, isLogged(events, writes) {
            commitQuietly(writes)
            performReady(actions)
        } else if writes.isEmpty && commitsUnderWay == 0 {
            perform(actions, reporting: paths)
        } else {
            commit(writes) { $0.perform(actions, reporting: paths) }
        }
        setAlarm()
        parts.onChange()
    }

    func commit(_ writes: [LedgerWrite], then work: @escaping @Sendable (isolated Uploader) -> Void) {
        commitsUnderWay += 1
        let commit = note(writes)
        let keys = writes.compactMap(\.changedUpload)
        for key in keys { undurable[key, default: 0] += 1 }
        parts.ledger.commit(writes) { [weak self] in
            self?.run { uploader in
                uploader.commitsUnderWay -= 1
                uploader.unsaved.saved(writes, by: commit)
                for key in keys { uploader.settle(key) }
                work(uploader)
            }
        }
    }

    /// Stores what nothing waits for.
    func commitAside(_ writes: [LedgerWrite]) {
        if writes.isEmpty { return }
        let commit = note(writes)
        parts.ledger.commit(writes) { [weak self] in
            self?.run { $0.unsaved.saved(writes, by: commit) }
        }
    }

    /// Keeps track of changes that are being committed.
    ///
    /// - Returns: names the commit.
    private func note(_ writes: [LedgerWrite]) -> UInt64 {
        for write in writes { book.note(write) }
        return unsaved.add(writes)
    }

    func ledgerFailed(_ error: LedgerError) {
        parts.logger.error("the ledger can't be read", metadata: ["reason": "\(error)"])
        problems["ledger"] = "\(error)"
    }

    private func end(
        _ path: RelativePath, _ key: ContentKey, _ outcome: DropOutcome, attempts: Int, now: Now,
        writes: inout [LedgerWrite]
    ) {
        guard let record = record(of: path), record.key == key else { return }
        counters.ended(outcome)
        writes.append(book.end(record, outcome, attempts: attempts, at: now.wall))
    }

    // MARK: Time

    func setAlarm() {
        let now = self.now.monotonic
        let next = [
            machine.nextDeadline(after: now), book.nextDeadline, sourceDeadline,
        ].compactMap(\.self).min()
        guard let next else { return }
        alarm.set(for: next, now: now) { [weak self] in await self?.alarmRang() }
    }

    func alarmRang() {
        alarm.rang()
        handle(.tick)
        tickSources()
        reportChangedSources()
        process([.tick])
    }
}
