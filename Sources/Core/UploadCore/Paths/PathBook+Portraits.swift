// Handles files of the portrait folder: tracks, hashes and reports them. `PortraitMachine` decides what to send when.
extension PathBook {
    /// Hands over the pictures dropped while no agent ran. Only the newest goes to the server, and a picture that still
    /// settles may be the newest, so this waits until all are hashed.
    mutating func sendFoundPortraits() {
        guard hasScanned, !foundPortraits.isEmpty, let folder = rules.portraitFolder,
            !hashing.contains(where: { $1.isFound && isPortrait($0) })
        else { return }
        for path in drops.paths(within: folder) {
            if let record = drops[path], record.key == nil, !record.state.isFinal { return }
        }
        let found = foundPortraits.compactMap { drops[$0] }.filter { $0.key != nil && !$0.state.isFinal }
        foundPortraits = []
        // The newest goes first, so that it supersedes the others before any work on them begins.
        let ordered = found.sorted { ($0.identity?.changed ?? 0, $0.path) > ($1.identity?.changed ?? 0, $1.path) }
        if !ordered.isEmpty { add(.portrait(.handOver(ordered, job: nil))) }
    }

    /// Accepts a picture of the portrait folder whose content is known now.
    mutating func accept(portrait drop: DropRecord, instead old: DropRecord?, _ hash: HashJob) {
        let path = drop.path
        if let key = old?.key, key == drop.key, facts.isWaiting(path, for: key) { add(.upload(.leave(path, key))) }
        if let old, old.key == drop.key, old.identity.map({ drop.identity?.isSameFile(as: $0) == true }) == true,
            old.state.isFinal, !old.wasRemoved
        {
            // Only attributes of an already handled picture changed.
            var record = old
            record.identity = drop.identity
            store(record)
            return add(.reportWhenDurable(path))
        }
        var record = drop
        record.state = isPaused(drop) ? .paused : .queued
        record.error = nil
        record.remote = nil
        record.finishedAt = nil
        record.attempts = 0
        handedOver.remove(path)
        add(.portrait(.forgetReport(path)))
        forgetIntake(of: path)
        store(record)
        if hash.isFound || !foundPortraits.isEmpty {
            foundPortraits.insert(path)
        } else {
            add(.portrait(.handOver([record], job: hash.job)))
        }
        add(.report(path))
    }

    /// Records the outcome of a picture that was handed over.
    mutating func portrait(_ path: RelativePath, _ key: ContentKey, _ outcome: PortraitOutcome) {
        guard var record = record(of: path), record.key == key, !record.state.isFinal, isPortrait(path) else { return }
        guard case .ended(let state, let error, let attempts, let startedAt, let finishedAt, let url) = outcome else {
            handedOver.insert(path)
            return add(.report(path))
        }
        handedOver.remove(path)
        record.state = state
        record.error = error
        record.attempts = attempts
        record.startedAt = startedAt
        record.finishedAt = finishedAt ?? now.wall
        record.remote = url.map { RemoteObject(id: nil, url: $0) }
        store(record)
        add(.reportWhenDurable(path))
    }

    /// Records that a path of the portrait folder left a content. Ignores other paths.
    mutating func leavePortrait(_ path: RelativePath, _ key: ContentKey) {
        guard isPortrait(path) else { return }
        foundPortraits.remove(path)
        handedOver.remove(path)
        add(.portrait(.forgetReport(path)))
        add(.portrait(.removed(path, key)))
    }

    /// Renames a file within, into or out of the portrait folder. Within the folder the record stays; into or out of
    /// it, the file starts over.
    mutating func move(portrait old: DropRecord, to path: RelativePath, wasHashing: Bool) {
        let wasFound = foundPortraits.remove(old.path) != nil
        let wasHandedOver = handedOver.remove(old.path) != nil
        if isPortrait(old.path), isPortrait(path), old.key != nil, old.state != .settling {
            if wasFound { foundPortraits.insert(path) }
            if wasHandedOver { handedOver.insert(path) }
            add(.portrait(.renamed(old.path, to: path)))
            return carry(old, to: path, wasHashing: wasHashing)
        }
        if let key = old.key, !old.state.isFinal {
            if isPortrait(old.path) {
                add(.portrait(.forgetReport(old.path)))
                add(.portrait(.removed(old.path, key)))
            } else {
                add(.upload(.leave(old.path, key)))
            }
        }
        if old.state == .paused { wishes.paused.insert(path) }
        settleAgain(old, as: path)
    }

    /// Applies a user action to a profile picture whose content is known.
    ///
    /// - Returns: why nothing happened; nil on success.
    mutating func act(_ action: UserAction, onPortrait record: DropRecord) -> String? {
        switch action {
        case .pause, .resume:
            let isPaused = action == .pause
            if (record.state == .paused) == isPaused {
                return isPaused ? "the picture is already paused" : "the picture is not paused"
            }
            var changed = record
            changed.state = isPaused ? .paused : .queued
            store(changed)
            add(.portrait(.setPaused(record.path, isPaused)))
            add(.report(record.path))
        case .cancel:
            guard let key = record.key else { return nil }
            add(.portrait(.cancelled(record.path, key)))
            // The picture may be on the server already; the sender reports its outcome.
            guard !handedOver.contains(record.path) else { return nil }
            foundPortraits.remove(record.path)
            var ended = record
            ended.state = .cancelled
            ended.finishedAt = now.wall
            ended.error = .cancelledByUser
            store(ended)
            add(.reportWhenDurable(record.path))
        case .retry: add(.portrait(.retry(record.path)))
        case .submit: return "only a post can be submitted"
        case .first: return "a profile picture is not in the queue: the agent sends it beside the uploads"
        }
        return nil
    }
}
