import Ledger
import UploadCore

// What follows from the decisions of the path book.
extension AgentCore {
    func carryOut(_ actions: [PathAction]) {
        if actions.isEmpty { return }
        var events: [MachineEvent] = []
        var writes: [LedgerWrite] = []
        var renamed: [(old: RelativePath, new: RelativePath)] = []
        let told = actions.compactMap { if case .reportWhenDurable(let path) = $0 { path } else { nil } }
        var changed = Set(told)
        let ended = changed
        for action in actions {
            switch action {
            case .write(let write):
                writes.append(write)
                guard case .drop(let record) = write else { continue }
                changed.insert(record.path)
                if ended.contains(record.path) { countOutcomeWithoutUpload(record) }
            case .upload(let event): events.append(posts.held(event) { record(of: $0) })
            case .reportWhenDurable: break
            case .renamed(let old, let new):
                renamed.append((old, new))
                prepare(action)
            default: prepare(action)
            }
        }
        // The journal finds a file under both names. The ledger knows no file that has not been hashed.
        for (old, new) in renamed where changed.contains(new) { writes.append(.place(old, now: new)) }
        tellMachine(events, storing: writes)
        if !told.isEmpty { decision.performOnceDurable(.report(told)) }
        tellPostsOnceDurable(of: changed.sorted())
        for action in actions { conclude(action) }
    }

    /// Counts a path that just reached a final state without an upload of its own: the server has had its content, or
    /// the file can't be read.
    private func countOutcomeWithoutUpload(_ record: DropRecord) {
        guard record.finishedAt == now.wall else { return }
        let bytes = record.identity?.size ?? 0
        switch (record.state, record.remote, record.error) {
        case (.done, let remote?, _): decision.perform(.count(.done(remote, deduplicated: true), bytes: bytes))
        case (.failed, _, let error?): decision.perform(.count(.failed(error), bytes: bytes))
        default: break
        }
    }

    /// Does what must precede the reports of the same event.
    private func prepare(_ action: PathAction) {
        switch action {
        case .announceGone(let path): decision.perform(.announceGone(path))
        case .removeSidecar(let path): decision.perform(.removeSidecar(path))
        case .park(let record, let account):
            if parked.isEmpty { write([.setting(LedgerSetting.others, [1])]) }
            parked.add(record, of: account)
        case .renamed(let old, let new): decision.perform(.renamed(old, to: new, book.drops[new]?.key))
        case .portrait(let step): decision.perform(.preparePortrait(step))
        default: break
        }
    }

    private func conclude(_ action: PathAction) {
        switch action {
        case .report(let path):
            decision.perform(.report([path]))
            tellPost(of: path)
        case .settle(let path): decision.perform(.settle(path))
        case .hash(let path, let identity, let job): decision.perform(.hash(path, identity, job: job))
        case .releaseContent(let key):
            decision.performOnceDurable(.releaseThumbnail(key))
            decision.performOnceDurable(.releaseProduct(key))
        case .examine(let path): decision.perform(.examine(path))
        case .learned(let key, let facts, let isExamined): learn(facts, of: key, isAll: isExamined)
        case .postLost(let record): if !posts.isEmpty { tellPosts(.lost(record)) }
        case .postMoved(let old, let record): if !posts.isEmpty { tellPosts(.moved(old, to: record)) }
        case .confirmRemoval(let path): tellPosts(.missing(path))
        case .recovered: write([.setting(LedgerSetting.recovery, nil)])
        case .portrait(let step):
            if case .handOver = step {
                decision.performOnceDurable(.performPortrait(step))
            } else {
                decision.perform(.performPortrait(step))
            }
        case .retirement(let path, let step): carryOut(step, on: path)
        case .write, .upload, .reportWhenDurable, .announceGone, .removeSidecar, .park, .renamed, .refuse: break
        }
    }

    private func carryOut(_ step: RetirementStep, on path: RelativePath) {
        switch step {
        case .commit(let writes):
            write(writes)
            decision.performOnceDurable(.path(.retirement(path, .durable)))
        case .store(let writes): write(writes)
        case .take, .check, .findName, .release, .delete, .putBack, .reportStuck, .reportWorking:
            decision.perform(.retirement(path, step))
        }
    }

    func learn(_ facts: MediaFacts, of key: ContentKey, isAll: Bool) {
        let changes = records(of: key, learning: facts, isAll: isAll)
        if changes.isEmpty { return }
        write(changes.map { book.update($0.record) }, isAside: true)
        decision.perform(.report(changes.filter(\.isShown).map(\.record.path)))
    }
}
