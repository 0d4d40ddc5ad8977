import Ledger
import UploadCore

// Carries out the decisions of the upload machine.
extension Uploader {
    func perform(
        _ actions: [MachineAction], reporting paths: [RelativePath] = [], telling files: [RelativePath] = []
    ) {
        var changed: Set<ContentKey> = []
        var left: [RelativePath] = []
        for action in actions {
            switch action {
            case .write: break
            case .leftToLedger(_, let paths): left += paths
            case .broughtIn(_, let paths): for path in paths { if let record = book.drops[path] { examine(record) } }
            case .register, .resume, .send, .finish, .remove, .commit, .cancel: request(action)
            case .ended(let path, let key, _, _): ended(path, key)
            case .takeAgain(let path, let key): takeAgain(path, key)
            case .commitEnded(let id, let revision, let outcome): commitEnded(id, revision: revision, outcome)
            case .commitChanged(let id): if let directory = posts.directory(withID: id) { reportSoon([directory]) }
            case .changed(let key): changed.insert(key)
            case .allChanged:
                changed.formUnion(machine.keys)
                if posts.noteProgressOfAll(now: now.monotonic) { setAlarm() }
            case .serverTrouble(let error): perform(SessionSteps.serverTrouble(error))
            }
        }
        report(changed.flatMap { machine.waiters(of: $0) } + left)
        for key in changed { runner.closeIdleFile(of: key, uploads) }
        report(paths)
        for path in Set(files).sorted() { tellPost(of: path) }
    }

    private func ended(_ path: RelativePath, _ key: ContentKey) {
        report([path])
        tellPost(of: path)
        if machine.record(of: key) == nil { runner.forget(key) }
        retire(path)
    }

    private func takeAgain(_ path: RelativePath, _ key: ContentKey) {
        runner.closeFile(of: key)
        if book.drops[path]?.key == key { handle(.lookAgain(path)) }
    }

    // MARK: Requests

    /// What requests may ask at this moment.
    private var uploads: UploadFacts { UploadFacts(machine: machine, active: book.drops) }

    /// Begins a request. If it can't begin, handles its failure at once.
    private func request(_ action: MachineAction) {
        let events = runner.perform(action, uploads)
        guard events.isEmpty else { return process(events) }
        guard case .send(_, let key, _, _) = action else { return }
        status.counters.beganToSend()
        markStarted(key)
    }

    func handle(_ news: RequestRunner.News) {
        switch news {
        case .ended(let id, let events, let wasSending):
            if wasSending { status.counters.ended(sending: events) }
            for size in runner.end(id, events, uploads) { status.counters.acknowledged(bytes: size) }
            process(events)
        case .reached(let id, let bytes):
            guard let key = runner.reach(bytes, by: id) else { return }
            reporter.reportProgress(of: machine.waiters(of: key), reports)
        case .ledgerFailed(let error): ledgerFailed(error)
        }
    }

    /// Records when the first fragment of a path was sent; durably if the upload has more than one fragment.
    private func markStarted(_ key: ContentKey) {
        var writes: [LedgerWrite] = []
        for path in machine.waiters(of: key) {
            if let write = book.begin(path, at: now.wall) { writes.append(write) }
        }
        let isLong = machine.record(of: key).map { $0.plan.count > 1 } ?? false
        if isLong && !writes.isEmpty { parts.ledger.commit(writes) {} }
    }
}
