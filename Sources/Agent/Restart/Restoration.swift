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
        var trouble: LedgerView.Trouble
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
    /// The acknowledgements that the last run could not store in the ledger.
    private let logged: [ContentKey: [AcknowledgementLog.Entry]]
    /// The uploads that the machine must hold: nothing else would report that a path is paused.
    private var held: Set<ContentKey> = []
    /// The paths without an upload for this server and account.
    private var orphans: [ContentKey: [DropRecord]] = [:]

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
        logged = Self.loggedAcknowledgements(sources)
        self.book.ownership = settings.lastRun.ownership
        self.book.isRecovering = settings.recoveryNotice != nil
        self.posts.ownership = settings.lastRun.ownership
        try restorePosts()
    }

    private var world: PathWorld {
        PathWorld(
            files: sources.files, stored: stored, machine: machine, sidecars: sources.sidecars,
            portraitFolder: book.rules.portraitFolder)
    }

    private var stored: LedgerView {
        LedgerView(
            ledger: sources.ledger, unsaved: Unsaved(), scope: sources.scope, trouble: sources.trouble,
            logger: sources.logger)
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

    /// Judges all paths. Paths that wait for an upload stay in the ledger until the machine reads the upload.
    ///
    /// - Parameter perform: called with what follows from each path at rest, one at a time: there may be a million.
    mutating func restoreDrops(_ perform: (Step) -> Void) {
        let isOtherOutbox = KnownOutbox(settings.outbox).differs(from: sources.files.identity)
        let isOtherServer = settings.lastRun.isOtherServer
        let stored = stored
        stored.forEachRecord(within: .root) { record in
            switch book.restore(record, isOtherServer: isOtherServer, judgesAgain: settings.judgesAgain) {
            case .waits(let waiter):
                guard let key = record.key else { return }
                if isOrphan(key, stored) { return orphans[key, default: []].append(record) }
                if waiter.paused || posts.holds(record) { held.insert(key) }
            case .parked(let account): parked.add(record, of: account)
            case .underWay: break
            case .forgotten: writes.append(.forgetDrop(record.path))
            case .ended:
                if !record.isTrace, !isOtherOutbox { perform(.repairSidecar(record)) }
                perform(.examine(record))
                if case .moved(let old) = record.disposal, stored.record(of: old) == nil {
                    perform(.removeSidecar(old))
                }
            }
        }
    }

    /// Whether this server and account have no upload of a content. False if the ledger can't be read.
    private func isOrphan(_ key: ContentKey, _ stored: LedgerView) -> Bool {
        do throws(LedgerError) {
            return try stored.upload(of: key) == nil
        } catch {
            sources.trouble.note(error)
            return false
        }
    }

    // MARK: Uploads

    /// Leaves the uploads of the present account to the machine as its backlog, except those that it must hold, and
    /// parks those of other accounts. Paths without an upload start over.
    mutating func restoreUploads() throws(LedgerError) {
        var places: (first: QueuePlace, last: QueuePlace)?
        try sources.ledger.forEachUpload { record in
            if record.scope == sources.scope {
                let known = places ?? (record.place, record.place)
                places = (min(known.first, record.place), max(known.last, record.place))
            } else {
                park(record)
            }
            return true
        }
        for key in held.union(logged.keys).sorted() { try hold(key) }
        try sources.ledger.forEachParked { record, acknowledged, receipts in
            restoreParked(record, acknowledged, receipts)
            return true
        }
        startOver()
        if let places { machine.restoreBacklog(from: places.first, to: places.last) }
        machine.restoreRemovals(try pendingRemovals())
    }

    /// Has the machine hold an upload, with the acknowledgements that the ledger lacks.
    private mutating func hold(_ key: ContentKey) throws(LedgerError) {
        guard let record = try stored.upload(of: key) else { return }
        var upload = try BacklogWorld(stored: stored, book: book, posts: posts).upload(record)
        addLogged(to: &upload.acknowledged, of: record, receipts: upload.receipts)
        hold(upload, try stored.records(of: key))
    }

    /// Adds the acknowledgements that the last run could not store in the ledger.
    private mutating func addLogged(
        to acknowledged: inout FragmentSet, of record: UploadRecord, receipts: [Int: String]
    ) {
        for entry in logged[record.key] ?? [] where entry.belongs(to: record) {
            guard acknowledged.insert(entry.fragment) else { continue }
            let page = FragmentPage(of: entry.fragment, in: acknowledged, receipts: receipts)
            writes.append(.fragments(record.key, page))
        }
    }

    private mutating func hold(_ upload: StoredUpload, _ records: [DropRecord]) {
        machine.restore(
            upload.record, acknowledged: upload.acknowledged, receipts: upload.receipts, waiters: upload.waiters,
            now: sources.now)
        let waiting = Set(upload.waiters.map(\.path))
        for record in records where waiting.contains(record.path) { book.bringIn(record) }
    }

    /// Parks an upload of another account, unless no path waits for it.
    private mutating func park(_ record: UploadRecord) {
        guard parked.isWanted(record.key) else { return writes.append(.forgetUpload(record.key)) }
        var acknowledged = FragmentSet()
        let fragments = stored.asked { () throws(LedgerError) in
            try sources.ledger.fragments(of: record.key, plan: record.plan)
        }
        if let fragments {
            acknowledged = fragments.acknowledged
            addLogged(to: &acknowledged, of: record, receipts: fragments.receipts)
        }
        writes.append(.park(record.key))
        keepParked(record, acknowledged)
    }

    /// Resumes a parked upload of the present account. Keeps another account's upload parked.
    private mutating func restoreParked(
        _ record: UploadRecord, _ acknowledged: FragmentSet, _ receipts: [Int: String]
    ) {
        guard record.scope == sources.scope, let paths = orphans.removeValue(forKey: record.key) else {
            return keepParked(record, acknowledged)
        }
        writes.append(.unpark(record.key, record.scope))
        let waiters = paths.map { RestoredWaiter($0, posts) }
        hold(StoredUpload(record: record, acknowledged: acknowledged, receipts: receipts, waiters: waiters), paths)
    }

    /// Keeps an upload parked, unless no path waits for it.
    private mutating func keepParked(_ record: UploadRecord, _ acknowledged: FragmentSet) {
        if !parked.add(ParkedUploads.Entry(record: record, acknowledged: acknowledged)) {
            writes.append(.forgetParked(record.key, record.scope))
        }
    }

    /// Queues paths without an upload for this server and account for a new hash.
    private mutating func startOver() {
        let records = orphans.values.flatMap(\.self)
        orphans = [:]
        for case .write(let write) in book.startOver(records, now: sources.now, facts: world) { writes.append(write) }
    }

    /// Returns the acknowledgements that the last run could not store in the ledger.
    private static func loggedAcknowledgements(_ sources: Sources) -> [ContentKey: [AcknowledgementLog.Entry]] {
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
