import AgentConfiguration
import AgentSupport
import ControlAPI
import FileWatch
import Ledger
import LinuxSystem
import Logging
import Remotes
import Synchronization
import UploadCore

/// The only owner of the state of paths and uploads. It passes events of watch, hashing, server and user to
/// `UploadMachine` and carries out the machine's decisions: *ledger first, action second*.
///
/// The actor has a thread of its own, since it reads the ledger and opens files. An action waits until all earlier
/// decisions that it depends on are durable.
actor Uploader {
    typealias Parts = UploaderParts

    let thread = SerialThread(name: "uploader")
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// How many waiting uploads the upload machine holds: enough for many batches of registrations.
    static let window = 4096

    let parts: Parts
    nonisolated var events: EventHub { parts.events }
    /// Thread that walks through the ledger for queries.
    nonisolated let reader = SerialThread(name: "ledger-reader")
    var machine: UploadMachine
    /// The state of the paths under way.
    var book: PathBook
    /// Ledger errors that occurred while the path book asked.
    let ledgerTrouble = LedgerView.Trouble()
    /// Uploads of accounts that are not signed in.
    var parked = ParkedUploads()
    /// Examines pictures and videos; `nil` if the configuration disables it.
    private(set) lazy var thumbnails = parts.media.map { media in
        Thumbnails(media: media) { [weak self] news in self?.run { $0.handle(news) } }
    }
    /// Set from any thread, so that no queue delays the end.
    private let isEnding = Atomic(false)
    /// The profile pictures.
    var portraits: PortraitDesk
    /// Directories that are posts.
    var posts: Posts
    /// Performs the machine's requests.
    private(set) lazy var runner = RequestRunner(
        RequestRunner.Parts(
            remote: parts.remote, sources: parts.sources, files: parts.files, ledger: parts.ledger,
            secret: parts.secret, clock: parts.clock)
    ) { [weak self] news in self?.run { $0.handle(news) } }
    /// Moves files out of the outbox after their upload.
    private(set) lazy var retirer = RetirementRunner(
        holding: parts.holding, files: parts.files, hashPool: parts.hashPool, fate: parts.fate, logger: parts.logger
    ) { [weak self] path, event in self?.run { $0.handle(.retirement(path, event)) } }
    var reconsider: @Sendable (RelativePath) -> Void = { _ in }
    var commits = CommitOrder()
    var alarm = Alarm()
    /// Reports files and posts.
    var reporter: Reporter
    var knownOutbox = KnownOutbox()
    var unsaved = Unsaved()
    var status: AgentStatus
    /// Searches for sidecars without a path.
    private(set) lazy var strays = StraySearch(
        StraySearch.Parts(
            sidecars: parts.sidecars, files: parts.files, rules: parts.rules, ledger: parts.ledger, reader: reader,
            logger: parts.logger)
    ) { [weak self] news in self?.run { $0.handle(news) } }
    var formerNames = FormerNames()
    /// Queued events of the watch.
    let heard = BoundedQueue<WatchEvent>(capacity: 4096)
    var intake = WatchIntake()

    /// Creates an uploader. `start` restores the state from the ledger.
    init(parts: Parts, limits: UploadLimits, seed: UInt64, window: Int = Uploader.window) {
        self.parts = parts
        portraits = PortraitDesk(parts.portrait?.service)
        let rules = PathBook.Rules(
            portraitFolder: parts.portrait?.folder, fate: parts.fate, retention: parts.retention)
        book = PathBook(rules: rules)
        posts = Posts(rules: Posts.Rules(paths: rules, scope: parts.remote.scope))
        reporter = Reporter(sidecars: parts.sidecars, events: parts.events, logger: parts.logger)
        machine = UploadMachine(
            limits: limits, traits: parts.remote.traits, scope: parts.remote.scope, seed: seed,
            window: window)
        status = AgentStatus(
            version: parts.version, processID: parts.processID, startedAt: parts.clock.now.monotonic,
            events: parts.events)
    }

    var now: Now { parts.clock.now }

    /// Runs work on the uploader's thread, after all queued work.
    nonisolated func run(_ work: @escaping @Sendable (isolated Uploader) -> Void) {
        thread.run { self.assumeIsolated { work($0) } }
    }

    /// Whether the agent is ending. Nothing new begins then.
    nonisolated var hasStopped: Bool { isEnding.load(ordering: .relaxed) }

    /// From now on, begins nothing new and drops events of the watch.
    nonisolated func beginToEnd() {
        isEnding.store(true, ordering: .relaxed)
        heard.close()
    }

    /// Passes events to the upload machine, makes its decisions durable and carries them out.
    ///
    /// - Parameters:
    ///   - writes: further changes for the same commit.
    ///   - paths: paths to report once everything is durable.
    ///   - files: changed files, whose posts learn of the change once everything is durable.
    func process(
        _ events: [MachineEvent], writes: [LedgerWrite] = [], reporting paths: [RelativePath] = [],
        telling files: [RelativePath] = []
    ) {
        let now = self.now
        let actions = decide(events, now: now)
        var writes = writes
        for event in events { writes += parked.take(event) }
        portraits.pass(events)
        for action in actions {
            switch action {
            case .write(let write): writes.append(write)
            case .ended(let path, let key, let outcome, let attempts):
                end(path, key, outcome, attempts: attempts, now: now, writes: &writes)
            default: break
            }
        }
        follow(actions, writes)
        if paths.isEmpty, parts.acknowledgements.append(events, writes, { machine.record(of: $0) }) {
            commit(writes, isAside: true)
            let (ready, waiting) = commits.split(actions)
            perform(ready)
            if !waiting.isEmpty { commit([]) { $0.perform(waiting) } }
        } else if writes.isEmpty && commits.isIdle {
            perform(actions, reporting: paths, telling: files)
        } else {
            commit(writes) { $0.perform(actions, reporting: paths, telling: files) }
        }
        setAlarm()
        parts.onChange()
    }

    private func decide(_ events: [MachineEvent], now: Now) -> [MachineAction] {
        guard machine.hasBacklog else { return machine.handle(events, now: now) }
        let backlog = BacklogWorld(stored: stored, book: book, posts: posts)
        defer { reportLedgerTrouble() }
        return machine.handle(events, now: now, stored: backlog)
    }

    /// Makes changes durable, then does the work.
    ///
    /// - Parameter isAside: whether nothing else waits for this commit.
    func commit(
        _ writes: [LedgerWrite], isAside: Bool = false,
        then work: @escaping @Sendable (isolated Uploader) -> Void = { _ in }
    ) {
        commits.begin(writes, isAside: isAside)
        for write in writes { book.note(write) }
        let number = unsaved.add(writes)
        parts.ledger.commit(writes) { [weak self] in
            self?.run { uploader in
                uploader.unsaved.saved(writes, by: number)
                // The ledger has caught up with the log.
                if uploader.commits.end(writes, isAside: isAside) { uploader.parts.acknowledgements.clear() }
                work(uploader)
            }
        }
    }

    func ledgerFailed(_ error: LedgerError) {
        let reason = "\(error)"
        // Logged once for each reason, not for each file of a scan.
        if status.problems[.ledger] != reason {
            parts.logger.error("the ledger can't be read", metadata: ["reason": "\(reason)"])
        }
        status.problems[.ledger] = reason
    }

    /// Handles a ledger error that occurred while a view of this moment answered.
    func reportLedgerTrouble() {
        if let error = ledgerTrouble.take() { ledgerFailed(error) }
    }

    private func end(
        _ path: RelativePath, _ key: ContentKey, _ outcome: DropOutcome, attempts: Int, now: Now,
        writes: inout [LedgerWrite]
    ) {
        guard let record = record(of: path), record.key == key else { return }
        status.counters.ended(outcome)
        writes.append(book.end(record, outcome, attempts: attempts, at: now.wall))
    }

    // MARK: Reports

    /// Makes reports from ledger records alone.
    var reportContext: ReportContext {
        ReportContext(traits: parts.remote.traits, remoteProtocol: parts.remoteProtocol, now: now.wall)
    }

    /// What reports say at this moment.
    var reports: ReportWorld {
        ReportWorld(
            paths: world, book: book, posts: posts, parked: parked, portraits: portraits.reports,
            transfers: runner.figures, requestCount: runner.count, context: reportContext, now: now.monotonic)
    }

    /// Reports paths, and soon their posts. Nothing else follows from a report.
    func report(_ paths: some Collection<RelativePath>) {
        if paths.isEmpty { return }
        // The view must be gone before posts change.
        let directories = reporter.report(paths, reports)
        reportSoon(directories)
        reportLedgerTrouble()
    }

    /// Reports posts soon. Changes within a short interval share one report.
    func reportSoon(_ directories: some Sequence<RelativePath>) {
        let now = self.now.monotonic
        for directory in directories where posts.noteProgress(of: directory, now: now) { setAlarm() }
    }

    // MARK: Time

    func setAlarm() {
        let now = self.now.monotonic
        let next = [
            machine.nextDeadline(after: now), book.nextDeadline, posts.nextDeadline,
        ].compactMap(\.self).min()
        guard let next else { return }
        alarm.set(for: next, now: now) { [weak self] in await self?.alarmRang() }
    }

    func alarmRang() {
        alarm.rang()
        handle(.tick)
        handle(posts: .tick)
        process([.tick])
    }
}
