import Intake
import Ledger
import Logging
import Sidecars
import UploadCore

/// Reads the queue of the last run from the ledger, and judges it for the present account, server, rules and outbox. The
/// one place that reads the queue at a start.
///
/// A value: it changes neither ledger nor disk. Its owner takes over `book`, `posts`, `machine` and `parked`, and makes
/// `writes` durable before anything begins.
struct Restoration {
    /// What the restoration reads.
    struct Sources {
        var ledger: Ledger
        var acknowledgements: AcknowledgementLog
        var files: OutboxFiles
        var sidecars: SidecarWriter
        var rules: IntakeRules
        var scope: RemoteScope
        /// Keeps ledger errors that do not stop the start.
        var trouble: PathWorld.Trouble
        var now: Now
        var logger: Logger
    }

    /// What follows from a path in a final state.
    enum Step: Equatable {
        /// Compare the sidecar with the record. A kill may have prevented the sidecar.
        case repairSidecar(DropRecord)
        /// Remove a sidecar that a kill left at the file's old place.
        case removeSidecar(RelativePath)
        /// Queue the content for examination.
        case examine(DropRecord)
    }

    private(set) var book: PathBook
    private(set) var posts: Posts
    private(set) var machine: UploadMachine
    private(set) var parked = ParkedUploads()
    /// Changes for the ledger that must be durable before anything begins.
    private(set) var writes: [LedgerWrite] = []

    private let sources: Sources
    private let settings: RestoredSettings
    /// The waiters of each content whose upload is not restored yet.
    private var waiters: [ContentKey: [RestoredWaiter]] = [:]

    /// Reads the posts. `restoreDrops` and then `restoreUploads` follow.
    ///
    /// - Parameters:
    ///   - book: without paths.
    ///   - posts: without posts.
    ///   - machine: without uploads.
    init(
        _ sources: Sources, _ settings: RestoredSettings, book: PathBook, posts: Posts, machine: UploadMachine
    ) throws(LedgerError) {
        (self.sources, self.settings) = (sources, settings)
        (self.book, self.posts, self.machine) = (book, posts, machine)
        self.book.ownership = settings.lastRun.ownership
        self.book.isRecovering = settings.recoveryNotice != nil
        self.posts.ownership = settings.lastRun.ownership
        try restorePosts()
    }

    private var world: PathWorld {
        PathWorld(
            files: sources.files, ledger: sources.ledger, unsaved: Unsaved(), machine: machine, scope: sources.scope,
            sidecars: sources.sidecars, trouble: sources.trouble, logger: sources.logger)
    }

    // MARK: Posts

    private mutating func restorePosts() throws(LedgerError) {
        var records: [SourceRecord] = []
        try sources.ledger.forEachSource(
            { record in
                records.append(record)
                return true
            },
            damaged: { [logger = sources.logger] error in
                logger.error("a record of the ledger is damaged", metadata: ["reason": "\(error)"])
            })
        let facts = PostWorld(paths: world, book: book, rules: sources.rules)
        writes += posts.restore(
            records, isOtherServer: settings.lastRun.isOtherServer, now: sources.now, facts: facts)
    }

    // MARK: Paths

    /// Restores the paths that are not in a final state.
    ///
    /// - Parameter perform: called with what follows from each of the others, one at a time: there may be a million.
    mutating func restoreDrops(_ perform: (Step) -> Void) {
        let isOtherOutbox = KnownOutbox(settings.outbox).differs(from: sources.files.identity)
        let isOtherServer = settings.lastRun.isOtherServer
        let world = world
        world.forEachStoredRecord(within: .root) { record in
            switch book.restore(record, isOtherServer: isOtherServer, judgesAgain: settings.judgesAgain) {
            case .waits(var waiter):
                waiter.paused = waiter.paused || posts.holds(record)
                if let key = record.key { waiters[key, default: []].append(waiter) }
            case .parked(let account): parked.add(record, of: account)
            case .underWay: break
            case .forgotten: writes.append(.forgetDrop(record.path))
            case .ended:
                if !record.isTrace, !isOtherOutbox { perform(.repairSidecar(record)) }
                perform(.examine(record))
                if case .moved(let old) = record.disposal, world.storedRecord(of: old) == nil {
                    perform(.removeSidecar(old))
                }
            }
        }
    }

    // MARK: Uploads

    /// Restores the uploads that paths of the present account wait for, parks those of other accounts, and drops the
    /// rest. Paths without an upload start over.
    mutating func restoreUploads() throws(LedgerError) {
        let logged = loggedAcknowledgements()
        var failure: LedgerError?
        try sources.ledger.forEachUpload { record in
            do throws(LedgerError) {
                try restore(record, logged[record.key] ?? [])
            } catch {
                failure = error
            }
            return failure == nil
        }
        if let failure { throw failure }
        try sources.ledger.forEachParked { record, acknowledged, receipts in
            restoreParked(record, acknowledged, receipts)
            return true
        }
        startOver()
        machine.restoreRemovals(try pendingRemovals())
    }

    private mutating func restore(
        _ record: UploadRecord, _ logged: [AcknowledgementLog.Entry]
    ) throws(LedgerError) {
        let isMine = record.scope == sources.scope
        guard isMine ? waiters[record.key] != nil : parked.isWanted(record.key) else {
            writes.append(.forgetUpload(record.key))
            return
        }
        var (acknowledged, receipts) = try sources.ledger.fragments(of: record.key, plan: record.plan)
        for entry in logged where entry.belongs(to: record) {
            guard acknowledged.insert(entry.fragment) else { continue }
            let page = FragmentPage(of: entry.fragment, in: acknowledged, receipts: receipts)
            writes.append(.fragments(record.key, page))
        }
        if isMine, let paths = waiters.removeValue(forKey: record.key) {
            machine.restore(record, acknowledged: acknowledged, receipts: receipts, waiters: paths, now: sources.now)
        } else {
            writes.append(.park(record.key))
            keepParked(record, acknowledged)
        }
    }

    /// Resumes a parked upload of the present account. Keeps another account's upload parked.
    private mutating func restoreParked(
        _ record: UploadRecord, _ acknowledged: FragmentSet, _ receipts: [Int: String]
    ) {
        if record.scope == sources.scope, let paths = waiters.removeValue(forKey: record.key) {
            writes.append(.unpark(record.key, record.scope))
            machine.restore(record, acknowledged: acknowledged, receipts: receipts, waiters: paths, now: sources.now)
        } else {
            keepParked(record, acknowledged)
        }
    }

    /// Keeps an upload parked, unless no path waits for it.
    private mutating func keepParked(_ record: UploadRecord, _ acknowledged: FragmentSet) {
        if !parked.add(ParkedUploads.Entry(record: record, acknowledged: acknowledged)) {
            writes.append(.forgetParked(record.key, record.scope))
        }
    }

    /// Queues paths without an upload for this server and account for a new hash.
    private mutating func startOver() {
        let paths = waiters.values.joined().map(\.path)
        waiters = [:]
        for case .write(let write) in book.startOver(paths, now: sources.now, facts: world) { writes.append(write) }
    }

    /// Returns the acknowledgements that the last run could not store in the ledger.
    private func loggedAcknowledgements() -> [ContentKey: [AcknowledgementLog.Entry]] {
        do {
            return Dictionary(grouping: try sources.acknowledgements.entries(), by: \.key)
        } catch {
            sources.logger.warning(
                "the last acknowledgements can't be read; the agent sends their fragments again",
                metadata: ["reason": "\(error)"])
            return [:]
        }
    }

    /// Returns the ids that the last run had yet to delete on the server.
    private func pendingRemovals() throws(LedgerError) -> [String] {
        let scope = Array(sources.scope.description.utf8)
        return try sources.ledger.settings(withPrefix: UploadMachine.removalPrefix).filter { $0.value == scope }
            .map { String($0.name.dropFirst(UploadMachine.removalPrefix.count)) }
    }
}
