import Clocks
import ControlAPI
import FileWatch
import Glibc
import Hooks
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
    /// Reads the ended paths, of which there may be a million.
    private let reader = SerialThread(name: "ledger-reader")
    private let session: SessionKeeper
    private let watchCounters: @Sendable () -> WatchCounters
    private let views: Views
    private let clock: any Clocks
    private let logger: Logger
    /// What the uploader said last, and when.
    private let lastAnswer = Mutex<(AgentStatus, AgentStatus.Figures, MonotonicTime)?>(nil)

    /// The sums of the journal's rows when somebody asked last.
    private let knownSums = Mutex(OutcomeSums())
    /// Rows of the journal read at a time.
    private static let outcomesOfPage = 256
    /// How long the uploader may take for an answer about the agent's health.
    private static let patience = Duration.seconds(3)

    /// What the dashboard shows besides files.
    struct Views: Sendable {
        /// Opens the thumbnail of a content; `nil` if there is none.
        var thumbnail: @Sendable (ContentKey) -> SharedDescriptor? = { _ in nil }
        /// The settings in force as JSON, without secrets.
        var settings: @Sendable () -> [UInt8] = { Array("{}".utf8) }
    }

    /// Creates a backend.
    ///
    /// - Parameter watchCounters: what the watch has done so far.
    init(
        uploader: Uploader, ledger: Ledger, session: SessionKeeper, events: EventHub,
        watchCounters: @escaping @Sendable () -> WatchCounters, views: Views = Views(), clock: any Clocks,
        logger: Logger
    ) {
        self.views = views
        self.uploader = uploader
        self.ledger = ledger
        self.session = session
        self.events = events
        self.watchCounters = watchCounters
        self.clock = clock
        self.logger = logger
    }

    // MARK: Health

    func health() async -> AgentHealth {
        // A hook may have failed for too long since the uploader last had work.
        uploader.run { $0.noteConditions() }
        let answer = await TimeLimit.wait(Self.patience) { [self] in
            let (status, figures, resting) = await uploader.ask { ($1, $0.figures(), $0.resting) }
            return (status, figures, await onReader { [resting] in resting.counts() })
        }
        guard let (status, found, resting) = answer else { return healthWithoutAnswer() }
        var figures = found
        figures.add(resting: resting)
        figures.token = session.origin
        figures.account = session.account.name
        figures.watch = watchCounters()
        lastAnswer.withLock { $0 = (status, figures, clock.now.monotonic) }
        return status.health(figures, at: clock.now.monotonic)
    }

    /// The last known health, and that the agent does not get on.
    private func healthWithoutAnswer() -> AgentHealth {
        let now = clock.now.monotonic
        let first = AgentStatus(
            version: uploader.parts.version, processID: uploader.parts.processID, startedAt: now, events: events)
        let (status, known, time) = lastAnswer.withLock(\.self) ?? (first, .init(), now)
        let silence = max(.zero, now - time).components.seconds + Self.patience.components.seconds
        var figures = known
        figures.hasScanned = false
        return status.health(
            figures, at: now,
            obstacle: "the agent has made no progress for \(silence) s: a disk may not answer; see `dmesg | tail`")
    }

    func metrics() async -> AgentMetrics {
        var (status, figures, resting) = await uploader.ask { ($1, $0.figures(files: $0.activeCounts()), $0.resting) }
        figures.add(resting: await onReader { [resting] in resting.counts() })
        figures.watch = watchCounters()
        figures.ledger = try? ledger.statistics()
        var metrics = status.metrics(figures, at: clock.now.monotonic)
        metrics.hooks = await hooks()
        return metrics
    }

    /// Returns the agent's state in one line. The uploader's own thread answers: if it hangs, no answer comes and the
    /// watchdog fires.
    func statusLine() async -> String {
        await uploader.ask { world, status in status.line(world.figures(files: world.roughCounts())) }
    }

    // MARK: Files

    func files(_ query: ListQuery<FileState>) async -> Listing<FileReport> {
        let (active, resting, context, posts) = await uploader.ask { world, _ in
            (world.activeReports(), world.resting, world.context, world.posts)
        }
        return await onReader {
            var listing = Listing(reports: active.filter { $0.path.isWithin(query.directory) })
            let stored = query.directory == .root ? resting.storedCounts : nil
            let ended = resting.reports(query, context, stored: stored)
            listing.reports += ended
            if query.limit != nil {
                listing.counts =
                    query.directory == .root
                    ? resting.counts(stored: stored).merging(active.counts) { $0 + $1 } : listing.reports.counts
            }
            listing.cut(to: query)
            listing.nameSources(posts)
            return listing
        }
    }

    func page(_ query: PageQuery) async -> FilePage {
        let (active, resting, context, posts) = await uploader.ask { world, _ in
            (world.activeReports(), world.resting, world.context, world.posts)
        }
        return await onReader {
            let matching = active.filter { $0.path.bytes.withUnsafeBytes(query.matches) }
            // One more than the page tells whether another page follows.
            var search = query
            search.size += 1
            let (resting, counts) = resting.page(search, context)
            var reports = (matching + resting).map { (place: DropPlace($0), report: $0) }
            if let states = query.states { reports.removeAll { !states.contains($0.report.state) } }
            if let start = query.start.map({ DropPlace(time: $0.time, id: $0.id) }) {
                reports.removeAll { $0.place <= start }
            }
            reports.sort { $0.place < $1.place }
            let page = reports.prefix(query.size)
            var listing = Listing(reports: page.map(\.report))
            listing.nameSources(posts)
            let last = reports.count > query.size ? page.last?.place : nil
            return FilePage(
                reports: listing.reports, counts: matching.counts.merging(counts) { $0 + $1 },
                next: last.map { PagePlace(time: $0.time, id: $0.id) })
        }
    }

    /// Runs work that only reads the ledger, without blocking the uploader.
    private func onReader<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            reader.run { continuation.resume(returning: work()) }
        }
    }

    func file(id: String) async -> FileReport? { await uploader.ask { world, _ in world.report(withID: id) } }

    func files(of key: ContentKey) async -> [FileReport] { await uploader.ask { world, _ in world.reports(of: key) } }

    // MARK: Views

    func thumbnail(of key: ContentKey) async -> [UInt8]? {
        await onReader { [views] in
            views.thumbnail(key).flatMap { try? readAll(from: $0.rawValue, atMost: 1 << 20) }
        }
    }

    func outcomes(_ query: JournalQuery) async -> Journal {
        await onReader { [ledger, logger] in
            do throws(LedgerError) {
                return Journal(ledger: try ledger.journalID(), entries: try ledger.journal(query))
            } catch {
                logger.error("the journal can't be read", metadata: ["reason": "\(error)"])
                return Journal(ledger: "")
            }
        }
    }

    func outcomes(after number: UInt64) async -> OutcomePage? {
        let context = await uploader.ask { world, _ in world.context }
        return await onReader { [ledger, logger] in
            do throws(LedgerError) {
                if try ledger.journalTrimmed() > number { return nil }
                let entries = try ledger.journal(after: number, atMost: Self.outcomesOfPage)
                return OutcomePage(events: entries.compactMap(context.event), last: entries.last?.number ?? number)
            } catch {
                logger.error("the journal can't be read", metadata: ["reason": "\(error)"])
                return nil
            }
        }
    }

    func sums() async -> HistorySums {
        await onReader { [self] in
            var sums = knownSums.withLock(\.self)
            do throws(LedgerError) {
                while case let entries = try ledger.journal(after: sums.last, atMost: 4096), !entries.isEmpty {
                    for entry in entries { sums.add(entry, day: entry.row.time.localDay) }
                }
            } catch {
                logger.error("the journal can't be read", metadata: ["reason": "\(error)"])
            }
            knownSums.withLock { [sums] in $0 = sums }
            return HistorySums(sums, today: clock.now.wall.localDay)
        }
    }

    func hooks() async -> [HookStatus] { uploader.parts.hooks?.statuses ?? [] }

    func testHook(_ name: String) async -> HookTest? { await uploader.parts.hooks?.test(name) }

    func skipHook(_ name: String) async -> Bool { await uploader.parts.hooks?.skip(name) ?? false }

    func transfers() async -> TransferHistory {
        await uploader.ask { [clock] _, status in status.recent.history(at: clock.now) }
    }

    func settings() async -> [UInt8] { views.settings() }

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

    func performOnAll(_ action: UserAction, below directory: RelativePath?) async -> ActionAnswer<FileReport> {
        await uploader.performOnAll(action, below: directory)
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
        if !isOther { await uploader.take(.credentials(isLogout: false)) }
        return isOther
    }

    func signOut() async throws(SessionError) {
        let end = try await session.signOut { [uploader] reason in
            _ = await uploader.handle(.uploads([.setSignedOut(reason)]))
        }
        if end.hadToken { logger.notice("the stored token is discarded") }
        await uploader.take(.credentials(isLogout: end.wasInUse))
    }
}

extension ReportContext {
    /// The event of a row of the journal; `nil` if there is none.
    fileprivate func event(_ entry: JournalEntry) -> EventHub.Event? {
        switch entry.row.subject {
        case .file, .portrait: EventHub.Event(outcome: entry.number, report(entry.row))
        case .post: EventHub.Event(outcome: entry.number, source: report(ofPost: entry.row))
        case .agent: nil
        }
    }
}

extension WallTime {
    /// The day in the machine's time zone, counted from 1970.
    fileprivate var localDay: Int {
        var seconds = time_t(milliseconds / 1000)
        var fields = tm()
        localtime_r(&seconds, &fields)
        return (seconds + fields.tm_gmtoff) / 86_400
    }
}

extension DropPlace {
    fileprivate init(_ report: FileReport) {
        self.init(time: (report.finishedAt ?? report.acceptedAt).milliseconds, id: report.id)
    }
}

extension [FileReport] {
    /// The number of reports by state.
    fileprivate var counts: [FileState: Int] { reduce(into: [:]) { $0[$1.state, default: 0] += 1 } }
}

extension Listing<FileReport> {
    /// Leaves out reports in other states, and orders the rest by path. With a limit, keeps at most so many reports of
    /// each state: of final states, those that ended last.
    fileprivate mutating func cut(to query: ListQuery<FileState>) {
        if let states = query.states { reports.removeAll { !states.contains($0.state) } }
        if let limit = query.limit {
            reports.sort { ($0.finishedAt?.milliseconds ?? 0, $1.path) > ($1.finishedAt?.milliseconds ?? 0, $0.path) }
            var numbers: [FileState: Int] = [:]
            reports.removeAll { report in
                numbers[report.state, default: 0] += 1
                return numbers[report.state, default: 0] > limit
            }
        }
        reports.sort { $0.path < $1.path }
    }

    /// Adds the ids of posts to the reports of their files.
    fileprivate mutating func nameSources(_ posts: Posts) {
        if posts.isEmpty { return }
        for index in reports.indices where reports[index].source == nil {
            let directory = posts.directory(above: reports[index].path)
            reports[index].source = directory.flatMap { posts[$0]?.record.id }
        }
    }
}
