import AgentConfiguration
import Ledger
import UploadCore

// What follows from the decisions of the upload machine.
extension AgentCore {
    /// Queues files that wait for a content for a new hash, if the ledger has no readable upload of it.
    func startOver(_ keys: [ContentKey]) {
        for key in keys where !machine.holds(key) {
            let records = stored.asked { () throws(LedgerError) in
                try stored.upload(of: key) == nil ? try stored.records(of: key) : []
            }
            let waiting = (records ?? []).filter(waits)
            if waiting.isEmpty { continue }
            write([.forgetUpload(key)])
            carryOut(ask { $0.startOver(waiting, now: now, facts: self) })
            for record in waiting { decision.perform(.settle(record.path)) }
        }
    }

    /// Passes events to the upload machine.
    ///
    /// - Parameter writes: changes of the ledger that belong to the events. While the machine handles the events, it reads
    ///   the ledger without these changes.
    func tellMachine(_ events: [MachineEvent], storing writes: [LedgerWrite] = []) {
        let actions = events.isEmpty ? [] : decide(events)
        var writes = writes
        for event in events {
            writes += parked.take(event)
            if event.concernsPortraits { decision.perform(.passToPortraits(event)) }
        }
        for action in actions {
            switch action {
            case .write(let write): writes.append(write)
            case .ended(let path, let key, let outcome, let attempts):
                if let write = end(path, key, outcome, attempts: attempts) { writes.append(write) }
            default: break
            }
        }
        write(writes)
        follow(actions)
        conclude(actions)
    }

    private func decide(_ events: [MachineEvent]) -> [MachineAction] {
        guard machine.hasBacklog else { return machine.handle(events, now: now) }
        return machine.handle(events, now: now, stored: self)
    }

    private func end(
        _ path: RelativePath, _ key: ContentKey, _ outcome: DropOutcome, attempts: Int
    ) -> LedgerWrite? {
        guard let record = record(of: path), record.key == key else { return nil }
        decision.perform(.count(outcome, bytes: record.identity?.size ?? 0))
        return book.end(record, outcome, attempts: attempts, at: now.wall)
    }

    /// Holds the records of paths whose upload the machine holds from now on, or no longer.
    private func follow(_ actions: [MachineAction]) {
        for action in actions {
            switch action {
            case .leftToLedger(let key, let paths): book.leaveToLedger(paths, waitingFor: key)
            case .broughtIn(let key, let paths):
                for path in paths where book.drops[path] == nil {
                    if let record = stored.record(of: path), record.key == key { book.bringIn(record) }
                }
            default: break
            }
        }
    }

    private func conclude(_ actions: [MachineAction]) {
        var changed: Set<ContentKey> = []
        var left: [RelativePath] = []
        for action in actions {
            switch action {
            case .write: break
            case .leftToLedger(_, let paths): left += paths
            case .broughtIn(_, let paths): for path in paths { decision.performOnceDurable(.examine(path)) }
            case .register, .resume, .send, .finish, .remove, .commit, .cancel:
                decision.performOnceDurable(.request(action))
            case .ended(let path, let key, _, _):
                decision.performOnceDurable(.report([path]))
                tellPostsOnceDurable(of: [path])
                decision.performOnceDurable(.endUpload(key))
                decision.performOnceDurable(.retire(path))
            case .takeAgain(let path, let key): decision.performOnceDurable(.takeAgain(path, key))
            case .commitEnded(let id, let revision, let outcome):
                decision.performOnceDurable(.endCommit(ofPost: id, revision: revision, outcome))
            case .commitChanged(let id): decision.performOnceDurable(.reportCommit(ofPost: id))
            case .changed(let key): changed.insert(key)
            case .allChanged: decision.performOnceDurable(.reportAllUploads)
            case .serverTrouble(let error):
                for step in SessionSteps.serverTrouble(error, usesKeys: usesAccessKeys) {
                    decision.performOnceDurable(step)
                }
            case .refusal(let error):
                for step in SessionSteps.refusal(error) { decision.performOnceDurable(step) }
            }
        }
        if !changed.isEmpty { decision.performOnceDurable(.reportUploads(changed)) }
        if !left.isEmpty { decision.performOnceDurable(.report(left)) }
    }

    /// Whether access keys prove the account, not a token.
    private var usesAccessKeys: Bool {
        Configuration.RemoteProtocol(rawValue: machine.scope.protocolName)?.usesAccessKeys ?? false
    }

    /// Whether `beganToSend` would record something.
    func awaitsBegin(_ key: ContentKey) -> Bool {
        machine.waiters(of: key).contains { book.drops[$0].map { $0.startedAt == nil } ?? false }
    }

    /// Records when the first fragment of a path was sent; durably if the upload has more than one fragment.
    func beganToSend(_ key: ContentKey) {
        let writes = machine.waiters(of: key).compactMap { book.begin($0, at: now.wall) }
        if let record = machine.record(of: key), record.plan.count > 1 { write(writes, isAside: true) }
    }
}
