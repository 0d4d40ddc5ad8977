import Clocks
import ControlAPI
import FileWatch
import Hooks
import Intake
import Ledger
import LinuxSystem
import Remotes
import Synchronization
import UploadCore

/// Keeps the order *ledger first, action second*: passes events of watch, hashing, server and user to `AgentCore`, makes
/// its decisions durable, and has `StepRunner` perform their steps.
///
/// The actor has a thread of its own, since it reads the ledger and opens files.
actor Uploader {
    typealias Parts = UploaderParts

    let thread = SerialThread(name: "uploader")
    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// How many waiting uploads the upload machine holds: enough for many batches of registrations.
    static let window = 512
    /// How many files may wait for their products before the watch defers others.
    static let mostProcessed = 8192

    let parts: Parts
    /// Thread that lists directories. May be busy for long.
    nonisolated let reader = SerialThread(name: "outbox-search")
    /// The state of paths, posts and uploads.
    let core: AgentCore
    private(set) lazy var runner = StepRunner(parts, core, reader: reader, isEnding: { [unowned self] in hasStopped }) {
        [weak self] news in self?.receive(news)
    }
    /// The results of work that wait for their turn.
    private let arrived = Mutex<[StepRunner.News]>([])
    private(set) var commits = CommitOrder()
    private(set) var alarm = Alarm()
    /// Set from any thread, so that no queue delays the end.
    private let isEnding = Atomic(false)
    /// Whether the agent has ended as far as files are concerned.
    var isSealed = false
    /// Queued events of the watch.
    private let heard: BoundedQueue<WatchEvent>
    /// The load of the watch: queued events, files that are being hashed, commits in progress, and small uploads that are
    /// queued while uploads are fast (`IntakePace`).
    nonisolated let load: IntakeLoad
    private var pace = IntakePace()
    /// Actions on many files.
    var bulk = BulkWork()
    var intake = WatchIntake()
    var conditions = AgentConditions()
    /// Whether `prepareUpkeep` has queued its work.
    private var isUpkeepQueued = false

    /// Creates an uploader. `start` restores the state from the ledger.
    init(parts: Parts, limits: UploadLimits, seed: UInt64, window: Int = Uploader.window) {
        self.parts = parts
        let heard = BoundedQueue<WatchEvent>(capacity: Self.window)
        self.heard = heard
        load = IntakeLoad(window: window) { heard.count }
        core = AgentCore(
            AgentCore.Sources(
                ledger: parts.ledger, files: parts.files, sidecars: parts.sidecars, rules: parts.rules,
                scope: parts.remote.scope, logger: parts.logger),
            rules: PathBook.Rules(
                portraitFolder: parts.portrait?.folder, fate: parts.fate, retention: parts.retention,
                recipes: parts.recipes),
            machine: UploadMachine(
                limits: limits, traits: parts.remote.traits, scope: parts.remote.scope, seed: seed, window: window),
            products: parts.productLimits)
    }

    var now: Now { parts.clock.now }

    /// What the agent's health and metrics say beside files.
    var status: AgentStatus {
        get { runner.status }
        set { runner.status = newValue }
    }

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
        parts.hooks?.stop()
    }

    // MARK: Events

    /// Has the core decide, makes the decision durable, and performs its steps.
    ///
    /// - Returns: why a user's request was refused; `nil` if it was not.
    @discardableResult
    func handle(_ event: AgentEvent) -> String? { handle([event]) }

    /// Handles events that arrived together, like one event.
    @discardableResult
    func handle(_ events: [AgentEvent]) -> String? {
        guard let decision = decide(events) else { return "the agent is ending" }
        return decision.refusal
    }

    /// Handles events that arrived together, and returns what the core decided; `nil` if the agent is ending.
    func decide(_ events: [AgentEvent]) -> AgentCore.Decision? {
        if isSealed { return nil }
        let decision = core.handle(events, now: now)
        if events.count == 1, case .uploads(let events) = events[0], logAcknowledgements(in: events, decision) {
            commit(decision, isAside: true)
            let (ready, waiting) = commits.split(decision.onceDurable)
            perform(ready)
            if !waiting.isEmpty { commit(.none) { $0.perform(waiting) } }
        } else if decision.writes.isEmpty && commits.isIdle {
            perform(decision.steps.map(\.step))
        } else if decision.isAside {
            if !decision.writes.isEmpty { commit(decision, isAside: true) }
            perform(decision.atOnce)
        } else {
            commit(decision) { $0.perform(decision.onceDurable) }
            perform(decision.atOnce)
        }
        prepareUpkeep()
        return decision
    }

    /// Performs steps in order, each with all that follows from it.
    func perform(_ steps: [AgentStep]) {
        if isSealed { return }
        for step in steps {
            if case .count(_, let bytes) = step { pace.pathEnded(bytes: bytes) }
            switch step {
            case .handle(let event): handle(event)
            case .checkLedger: commit(.none)
            default: perform(runner.perform(step))
            }
        }
        if runner.reportDeadline != nil { prepareUpkeep() }
        reportLedgerTrouble()
    }

    /// Handles the result of work.
    func take(_ news: StepRunner.News) {
        if !isSealed { perform(runner.take(news)) }
    }

    /// Queues the result of work that a step began. Results that arrive while the thread is busy are handled together.
    nonisolated func receive(_ news: StepRunner.News) {
        let isFirst = arrived.withLock { arrived in
            arrived.append(news)
            return arrived.count == 1
        }
        if isFirst { run { $0.takeArrived() } }
    }

    private func takeArrived() {
        let news = arrived.withLock { arrived in
            defer { arrived = [] }
            return arrived
        }
        var results = WorkResults()
        for news in news where !isSealed {
            let steps = runner.take(news)
            if results.add(steps, from: news) { continue }
            handleAll(of: &results)
            perform(steps)
        }
        handleAll(of: &results)
    }

    private func handleAll(of results: inout WorkResults) {
        for batch in results.take() { handle(batch) }
    }

    /// Queues events of the watch. Called on the watch's thread, which blocks while the queue is full.
    nonisolated func hear(_ events: [WatchEvent]) {
        if heard.add(events, merge: WatchEvent.fold) { run { $0.takeSlice() } }
    }

    private func reportLoad() {
        // Videos that wait for hours must not keep others out.
        let processed = min(core.products.waiterCount, Self.mostProcessed)
        let queued = pace.load(
            queued: core.machine.smallQueuedCount, hasBacklog: core.machine.hasBacklog, now: now.monotonic)
        // Files of a file system that does not answer must keep no others out.
        load.report(max(0, core.book.hashCount - processed - parts.hashPool.stuckCount) + commits.count + queued)
    }

    /// Handles some of the queued watch events. Control requests, results and the end of the agent get their turn
    /// between two slices.
    private func takeSlice() {
        let end = now.monotonic + WatchIntake.slice
        while !hasStopped {
            guard let steps = intake.next(from: heard, core) else { return }
            perform(steps)
            // The event has left the queue. If its file counted nowhere, the watch would take too many others.
            reportLoad()
            if now.monotonic >= end { return run { $0.takeSlice() } }
        }
    }

    /// Has the load reported and the alarm set once, after all queued work.
    private func prepareUpkeep() {
        if isUpkeepQueued { return }
        isUpkeepQueued = true
        run {
            $0.isUpkeepQueued = false
            $0.reportLoad()
            $0.offerRoom()
            $0.noteConditions()
            $0.beat()
            $0.setAlarm()
            $0.parts.onChange()
        }
    }

    // MARK: Commits

    /// Logs the acknowledgements of a decision that says nothing else. The ledger may then store them later.
    ///
    /// - Returns: whether the log holds all that the decision must store.
    private func logAcknowledgements(in events: [MachineEvent], _ decision: AgentCore.Decision) -> Bool {
        decision.waitsWholly
            && parts.acknowledgements.append(events, decision.writes) { core.machine.record(of: $0) }
    }

    /// Makes the changes of a decision durable, then does the work.
    ///
    /// - Parameter isAside: whether nothing else waits for this commit.
    private func commit(
        _ decision: AgentCore.Decision, isAside: Bool = false,
        then work: @escaping @Sendable (isolated Uploader) -> Void = { _ in }
    ) {
        commits.begin(decision.writes, isAside: isAside)
        let outcomes = decision.outcomes
        parts.ledger.commit(decision.writes, isPatient: isAside) { [weak self] in
            self?.run { uploader in
                // The ledger has caught up with the log.
                if uploader.commits.end(decision.writes, isAside: isAside) { uploader.parts.acknowledgements.clear() }
                uploader.prepareUpkeep()
                uploader.runner.tell(outcomes)
                work(uploader)
                // Last: until then, reports of these changes need not read the ledger.
                uploader.core.saved(decision)
                if !outcomes.isEmpty { uploader.parts.hooks?.wake() }
            }
        }
    }

    /// Handles a ledger error that occurred while the core, or a view of this moment, read the ledger.
    func reportLedgerTrouble() {
        if let error = core.stored.takeError() { runner.ledgerFailed(error) }
    }

    // MARK: Time

    private func setAlarm() {
        if hasStopped { return }
        let now = self.now.monotonic
        let deadlines = [
            core.nextDeadline(after: now), runner.reportDeadline, pace.deadline,
            parts.heartbeat == nil ? nil : conditions.heartbeatDue,
        ]
        guard let next = deadlines.compactMap(\.self).min() else { return }
        alarm.set(for: next, now: now) { [weak self] in await self?.alarmRang() }
    }

    func alarmRang() {
        alarm.rang()
        if let deadline = runner.reportDeadline, deadline <= now.monotonic { perform([.reportDelayed]) }
        handle(.tick)
    }

    /// Stops the alarm before the agent ends.
    func cancelAlarm() { alarm.cancel() }
}
