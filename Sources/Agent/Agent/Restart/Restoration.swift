import Intake
import Ledger
import Logging
import UploadCore

/// Reads from the ledger what the last run left to do, and judges it for the present account, server, rules and outbox.
///
/// Usually, the upload machine reads the queue as its turn comes, and `CatchUp` and the first scan go through the
/// other paths. So a start reads only paths that nothing leads to (`DropRecord.isNeededAtStart`), profile pictures, and
/// files of posts. After a change of account, server or rules, it reads all paths and uploads (`RestoredSettings.readsAll`).
///
/// Fills the core, and changes neither ledger nor disk. Its owner makes `writes` durable before anything begins.
struct Restoration {
    let core: AgentCore
    /// Changes for the ledger that must be durable before anything begins.
    private(set) var writes: [LedgerWrite] = []

    private let settings: RestoredSettings
    private let now: Now
    /// The acknowledgements that the last run could not store in the ledger.
    private let logged: [ContentKey: [AcknowledgementLog.Entry]]
    /// The uploads that the machine must hold: nothing else would report that a path is paused.
    private var held: Set<ContentKey> = []
    /// The paths whose recipe changed. The bytes of their uploads must not be sent any more.
    private var outdated: [DropRecord] = []
    /// The contents of these paths.
    private var dropped: Set<ContentKey> = []
    /// The paths without an upload for this server and account.
    private var orphans: [ContentKey: [DropRecord]] = [:]

    /// Reads the posts. `restoreDrops` and then `restoreUploads` follow.
    ///
    /// - Parameters:
    ///   - core: without paths, posts and uploads.
    ///   - acknowledgements: the log of the last run.
    init(
        _ core: AgentCore, _ settings: RestoredSettings, acknowledgements: AcknowledgementLog, now: Now
    ) throws(LedgerError) {
        (self.core, self.settings, self.now) = (core, settings, now)
        logged = Self.entries(of: acknowledgements, core.sources.logger)
        core.outbox = settings.outbox
        core.book.ownership = settings.lastRun.ownership
        core.book.isRecovering = settings.recoveryNotice != nil
        core.posts.ownership = settings.lastRun.ownership
        try restorePosts()
    }

    private var sources: AgentCore.Sources { core.sources }

    // MARK: Posts

    private mutating func restorePosts() throws(LedgerError) {
        var records: [SourceRecord] = []
        try sources.ledger.forEachSource(
            { record in
                records.append(record)
                return true
            }, damaged: core.stored.logDamage)
        writes += core.posts.restore(
            records, isOtherServer: settings.lastRun.isOtherServer, now: now, facts: core)
    }

    // MARK: Paths

    /// Judges the paths. Paths that wait for an upload stay in the ledger until the machine reads the upload.
    mutating func restoreDrops() {
        guard settings.readsAll else {
            for record in neededRecords() { restore(record) }
            return
        }
        core.stored.forEachRecord(within: .root) { restore($0) }
        if settings.hasOthers == core.parked.isEmpty {
            writes.append(.setting(LedgerSetting.others, core.parked.isEmpty ? nil : [1]))
        }
    }

    /// Returns the records that nothing leads to later: of the start, of profile pictures and of files of posts.
    private func neededRecords() -> [DropRecord] {
        var records: [RelativePath: DropRecord] = [:]
        core.stored.forEachRecordNeededAtStart { records[$0.path] = $0 }
        for directory in [core.book.rules.portraitFolder].compactMap(\.self) + core.posts.directories {
            core.stored.forEachRecord(within: directory) { if !$0.state.isFinal { records[$0.path] = $0 } }
        }
        return Array(records.values)
    }

    private mutating func restore(_ record: DropRecord) {
        let isOtherServer = settings.lastRun.isOtherServer
        switch core.book.restore(record, isOtherServer: isOtherServer, judgesAgain: settings.judgesAgain) {
        case .waits(let waiter):
            guard let key = record.key else { return }
            if isOrphan(key) { return orphans[key, default: []].append(record) }
            if waiter.paused || core.posts.holds(record) { held.insert(key) }
        case .parked(let account): core.parked.add(record, of: account)
        // A published post stays as it is until the user submits it again.
        case .forgotten where !isOtherServer && isPublished(record): break
        case .forgotten: writes.append(.forgetDrop(record.path))
        case .startsOver: outdated.append(record)
        case .underWay, .ended: break
        }
    }

    /// Whether a post holds a file that the server confirmed.
    private func isPublished(_ record: DropRecord) -> Bool {
        record.state == .done && core.posts.directories.contains { record.path.isWithin($0) }
    }

    /// Whether this server and account have no upload of a content. False if the ledger can't be read.
    private func isOrphan(_ key: ContentKey) -> Bool {
        core.stored.asked { () throws(LedgerError) in try core.stored.upload(of: key) == nil } ?? false
    }

    // MARK: Uploads

    /// Leaves the uploads of the present account to the machine as its backlog, except those that it must hold, and
    /// parks those of other accounts. Paths without an upload start over.
    mutating func restoreUploads() throws(LedgerError) {
        if settings.readsAll {
            try sources.ledger.forEachUpload { record in
                if record.scope != sources.scope { park(record) }
                return true
            }
        }
        dropped = try dropOutdated()
        for key in held.union(logged.keys).subtracting(dropped).sorted() { try hold(key) }
        try sources.ledger.forEachParked { record, acknowledged, receipts in
            restoreParked(record, acknowledged, receipts)
            return true
        }
        startOver()
        if let places = try sources.ledger.queueEnds() {
            core.machine.restoreBacklog(from: places.first, to: places.last)
        }
        core.machine.restoreRemovals(try sources.ledger.removals(for: sources.scope))
    }

    /// Forgets the uploads of paths whose recipe changed, and has the server delete what it has of them.
    ///
    /// - Returns: the contents of these uploads.
    private mutating func dropOutdated() throws(LedgerError) -> Set<ContentKey> {
        let keys = Set(outdated.compactMap(\.key))
        for key in keys.sorted() {
            guard let upload = try core.stored.upload(of: key) else { continue }
            writes.append(.forgetUpload(key))
            if let handle = upload.handle { remove(handle, upload.scope) }
        }
        return keys
    }

    /// Has the server delete an upload.
    private mutating func remove(_ handle: RemoteHandle, _ scope: RemoteScope) {
        writes.append(.removal(handle, scope))
        core.machine.restoreRemovals([handle])
    }

    /// Has the machine hold an upload, with the acknowledgements that the ledger lacks.
    private mutating func hold(_ key: ContentKey) throws(LedgerError) {
        guard let record = try core.stored.upload(of: key) else { return }
        var upload = try core.complete(record)
        addLogged(to: &upload.acknowledged, of: record, receipts: upload.receipts)
        hold(upload, try core.stored.records(of: key))
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
        core.machine.restore(
            upload.record, acknowledged: upload.acknowledged, receipts: upload.receipts, waiters: upload.waiters,
            now: now)
        let waiting = Set(upload.waiters.map(\.path))
        for record in records where waiting.contains(record.path) { core.book.bringIn(record) }
    }

    /// Parks an upload of another account, unless no path waits for it.
    private mutating func park(_ record: UploadRecord) {
        guard core.parked.isWanted(record.key) else { return writes.append(.forgetUpload(record.key)) }
        var acknowledged = FragmentSet()
        let fragments = core.stored.asked { () throws(LedgerError) in
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
        let waiters = paths.map { RestoredWaiter($0, core.posts) }
        hold(StoredUpload(record: record, acknowledged: acknowledged, receipts: receipts, waiters: waiters), paths)
    }

    /// Keeps an upload parked, unless no path waits for it.
    private mutating func keepParked(_ record: UploadRecord, _ acknowledged: FragmentSet) {
        if core.parked.add(ParkedUploads.Entry(record: record, acknowledged: acknowledged)) { return }
        writes.append(.forgetParked(record.key, record.scope))
        if dropped.contains(record.key), record.scope == sources.scope, let handle = record.handle {
            remove(handle, record.scope)
        }
    }

    /// Queues paths without an upload for this server and account for a new hash.
    private mutating func startOver() {
        let records = outdated + orphans.values.flatMap(\.self)
        (outdated, orphans) = ([], [:])
        let actions = core.ask { $0.startOver(records, now: now, facts: core) }
        for case .write(let write) in actions { writes.append(write) }
    }

    private static func entries(
        of acknowledgements: AcknowledgementLog, _ logger: Logger
    ) -> [ContentKey: [AcknowledgementLog.Entry]] {
        do {
            return Dictionary(grouping: try acknowledgements.entries(), by: \.key)
        } catch {
            logger.warning(
                "the last acknowledgements can't be read; the agent sends their fragments again",
                metadata: ["reason": "\(error)"])
            return [:]
        }
    }
}
