import ControlAPI
import Intake
import Ledger
import Logging
import Remotes
import Sidecars
import UploadCore

// Carries out the decisions of the path book.
extension Uploader {
    /// What the path book may ask at this moment.
    var world: PathWorld {
        PathWorld(
            files: parts.files, stored: stored, machine: machine, sidecars: parts.sidecars,
            portraitFolder: parts.portrait?.folder)
    }

    /// The ledger's content at this moment, including changes that are not durable yet.
    var stored: LedgerView {
        LedgerView(
            ledger: parts.ledger, unsaved: unsaved, scope: parts.remote.scope, trouble: ledgerTrouble,
            logger: parts.logger)
    }

    /// Holds the records of paths whose upload the upload machine holds from now on, or no longer.
    ///
    /// - Parameter writes: changes that the ledger view does not include yet.
    func follow(_ actions: [MachineAction], _ writes: [LedgerWrite]) {
        guard actions.contains(where: \.movesWindow) else { return }
        var changes: [RelativePath: DropRecord?] = [:]
        for write in writes {
            switch write {
            case .drop(let record): changes[record.path] = .some(record)
            case .forgetDrop(let path): changes[path] = .some(nil)
            default: break
            }
        }
        for action in actions {
            switch action {
            case .leftToLedger(let key, let paths): book.leaveToLedger(paths, waitingFor: key)
            case .broughtIn(let key, let paths):
                for path in paths where book.drops[path] == nil {
                    let record = if let change = changes[path] { change } else { stored.record(of: path) }
                    if let record, record.key == key { book.bringIn(record) }
                }
            default: break
            }
        }
    }

    /// Passes an event to the path book and carries out its decisions.
    ///
    /// - Returns: why a user's request was refused; `nil` if it was not.
    @discardableResult
    func handle(_ event: PathEvent) -> String? {
        let actions = book.handle(event, now: now, facts: world)
        reportLedgerTrouble()
        return carryOut(actions)
    }

    /// Carries out the decisions of the path book: all durable changes in one commit, the rest in order.
    @discardableResult
    func carryOut(_ actions: [PathAction]) -> String? {
        if actions.isEmpty { return nil }
        var events: [MachineEvent] = []
        var writes: [LedgerWrite] = []
        var told: [RelativePath] = []
        var changed: [RelativePath] = []
        for action in actions {
            switch action {
            case .write(let write):
                writes.append(write)
                if case .drop(let record) = write { changed.append(record.path) }
            case .upload(let event): events.append(posts.held(event) { record(of: $0) })
            case .reportWhenDurable(let path): told.append(path)
            default: prepare(action)
            }
        }
        if !events.isEmpty || !writes.isEmpty || !told.isEmpty {
            process(events, writes: writes, reporting: told, telling: told + changed)
        }
        for action in actions { conclude(action) }
        for case .refuse(let reason) in actions { return reason }
        return nil
    }

    /// Does the work that need not wait for the ledger, and must precede the reports of the same event.
    private func prepare(_ action: PathAction) {
        switch action {
        case .announceGone(let path): self.events.publish(gone: path)
        case .removeSidecar(let path): parts.sidecars.remove(path)
        case .park(let record, let account): parked.add(record, of: account)
        case .renamed(let old, let new):
            formerNames.record(old, renamedTo: new)
            if let key = book.drops[new]?.key { runner.renamed(old, of: key) }
        case .portrait(let step): portraits.prepare(step)
        default: break
        }
    }

    private func conclude(_ action: PathAction) {
        switch action {
        case .report(let path):
            report([path])
            tellPost(of: path)
        case .settle(let path): reconsider(path)
        case .hash(let path, let identity, let job): hash(path, identity, job)
        case .releaseContent(let key): releaseThumbnail(of: key)
        case .examine(let path): if let record = record(of: path) { examine(record) }
        case .learned(let key, let facts, let isExamined): learn(facts, of: key, isAll: isExamined)
        case .postLost(let record): if !posts.isEmpty { handle(posts: .lost(record)) }
        case .postMoved(let old, let record): if !posts.isEmpty { handle(posts: .moved(old, to: record)) }
        case .confirmRemoval(let path): handle(posts: .missing(path))
        case .recovered: process([], writes: [.setting(LedgerSetting.recovery, nil)])
        case .portrait(.handOver(let records, let job)):
            commit([]) { $0.portraits.perform(.handOver(records, job: job), $0.book) }
        case .portrait(let step): portraits.perform(step, book)
        case .retirement(let path, let step): carryOut(step, on: path)
        case .write, .upload, .reportWhenDurable, .announceGone, .removeSidecar, .park, .renamed, .refuse: break
        }
    }

    private func hash(_ path: RelativePath, _ identity: FileIdentity, _ job: UInt64) {
        parts.hashPool.add(
            HashPool.Job(
                path: path, identity: identity, sniffed: thumbnails?.earlyLook,
                hashed: { [weak self] bytes in
                    self?.run { if !$0.hasStopped { $0.handle(.hashing(path, job: job, bytes: bytes)) } }
                },
                done: { [weak self] finding in self?.run { $0.hashed(path, identity, job, finding) } }))
    }

    private func hashed(_ path: RelativePath, _ identity: FileIdentity, _ job: UInt64, _ finding: HashFinding) {
        if case .content(let identity, _, _, _) = finding { status.counters.bytesHashed += identity.size }
        guard !hasStopped else { return }
        // A post that the watch has not reported yet must hold the file before the file is sent.
        if case .content = finding, !book.isPortrait(path) { handle(posts: .expected(path)) }
        handle(.hashed(path, job: job, as: identity, finding))
    }

    // MARK: Records

    /// Returns the record of a path.
    func record(of path: RelativePath) -> DropRecord? {
        if let record = book.drops[path] { return record }
        defer { reportLedgerTrouble() }
        return world.storedRecord(of: path)
    }
}

extension MachineAction {
    /// Whether the machine holds an upload from now on, or no longer.
    fileprivate var movesWindow: Bool {
        switch self {
        case .broughtIn, .leftToLedger: true
        default: false
        }
    }
}
