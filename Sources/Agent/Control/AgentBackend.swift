import AgentSupport
import ControlAPI
import FileWatch
import Ledger
import LinuxSystem
import Logging
import Reports
import Session
import Synchronization
import UploadCore

/// Answers the control interface. Questions go to the uploader's state of one moment and to the ledger, actions to the
/// uploader.
final class AgentBackend: ControlBackend, SourceBackend {
    let events: EventHub
    private let uploader: Uploader
    private let ledger: Ledger
    /// Walks through the ended paths, of which there may be a million.
    private let reader: SerialThread
    private let session: SessionKeeper
    private let watchCounters: @Sendable () -> WatchCounters
    private let clock: any Clocks
    private let logger: Logger
    private let counts = Mutex(RecentCounts())

    /// Creates a backend.
    ///
    /// - Parameters:
    ///   - reader: the thread for walks through the ledger.
    ///   - watchCounters: what the watch has done so far.
    init(
        uploader: Uploader, ledger: Ledger, reader: SerialThread, session: SessionKeeper, events: EventHub,
        watchCounters: @escaping @Sendable () -> WatchCounters, clock: any Clocks, logger: Logger
    ) {
        self.uploader = uploader
        self.ledger = ledger
        self.reader = reader
        self.session = session
        self.events = events
        self.watchCounters = watchCounters
        self.clock = clock
        self.logger = logger
    }

    // MARK: Health

    func health() async -> AgentHealth {
        let resting = await restingCounts()
        var (status, figures) = await uploader.ask { ($1, $0.figures(files: resting)) }
        figures.token = session.origin
        figures.account = session.account.name
        return status.health(figures, at: clock.now.monotonic)
    }

    /// Returns the number of paths that nothing is under way for, by state, at most some seconds old.
    private func restingCounts() async -> [FileState: Int] {
        if let recent = counts.withLock({ $0.counts(at: clock.now.monotonic) }) { return recent }
        let resting = await uploader.ask { world, _ in world.resting }
        let found = await onReader { resting.counts() }
        counts.withLock { $0.store(found, at: clock.now.monotonic) }
        return found
    }

    func metrics() async -> AgentMetrics {
        let (active, resting) = await uploader.ask { world, _ in (world.activeCounts(), world.resting) }
        let files = await onReader { resting.counts() }.merging(active) { $0 + $1 }
        var (status, figures) = await uploader.ask { ($1, $0.figures(files: files)) }
        figures.watch = watchCounters()
        figures.ledger = try? ledger.statistics()
        return status.metrics(figures, at: clock.now.monotonic)
    }

    /// Returns the agent's state in one line. The uploader's own thread answers: if it hangs, no answer comes and the
    /// watchdog fires.
    func statusLine() async -> String {
        await uploader.ask { world, status in status.line(world.figures(files: world.roughCounts())) }
    }

    // MARK: Files

    func files(in states: Set<FileState>?) async -> [FileReport] {
        let (active, resting, context, posts) = await uploader.ask { world, _ in
            (world.activeReports(), world.resting, world.context, world.posts)
        }
        guard resting.mayContain(states) else { return Self.list(active, in: states, posts) }
        return await onReader { Self.list(active + resting.reports(context), in: states, posts) }
    }

    /// Returns the reports in the given states, with their posts, sorted by path.
    private static func list(_ reports: [FileReport], in states: Set<FileState>?, _ posts: Posts) -> [FileReport] {
        var reports = reports
        if let states { reports.removeAll { !states.contains($0.state) } }
        if !posts.isEmpty {
            for index in reports.indices where reports[index].source == nil {
                let directory = posts.directory(above: reports[index].path)
                reports[index].source = directory.flatMap { posts[$0]?.record.id }
            }
        }
        return reports.sorted { $0.path < $1.path }
    }

    /// Runs work that only reads the ledger, without blocking the uploader.
    private func onReader<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            reader.run { continuation.resume(returning: work()) }
        }
    }

    func file(id: String) async -> FileReport? { await uploader.ask { world, _ in world.report(withID: id) } }

    func files(of key: ContentKey) async -> [FileReport] { await uploader.ask { world, _ in world.reports(of: key) } }

    // MARK: Posts

    func sources() async -> [SourceReport] {
        await uploader.ask { world, _ in world.posts.directories.compactMap(world.report(ofPost:)) }
    }

    func source(id: String) async -> SourceReport? {
        await uploader.ask { world, _ in world.posts.directory(withID: id).flatMap(world.report(ofPost:)) }
    }

    // MARK: Actions

    func perform(_ action: UserAction, on target: ActionTarget) async -> [ActionOutcome<FileReport>]? {
        await uploader.perform(action, on: target)
    }

    func perform(_ action: UserAction, onSource id: String) async -> ActionOutcome<SourceReport>? {
        await uploader.perform(action, onSource: id)
    }

    func prune() async -> PruneReport { await uploader.prune() }

    // MARK: Session

    func signIn(token: String, user: String?) async throws(SessionError) -> Bool {
        let isOther = try await session.signIn(token: token, user: user) { [uploader] in
            await uploader.stopForOther()
        }
        logger.notice("a new token is stored", metadata: ["user": "\(user ?? "not named")"])
        if !isOther { await uploader.credentialsChanged() }
        return isOther
    }

    func signOut() async throws(SessionError) {
        let end = try await session.signOut { [uploader] reason in await uploader.process([.setSignedOut(reason)]) }
        if end.hadToken { logger.notice("the stored token is discarded") }
        await uploader.credentialsChanged(isLogout: end.wasInUse)
    }
}
