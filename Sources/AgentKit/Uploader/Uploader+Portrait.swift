import Ledger
import Logging
import UploadCore

// Files of the portrait folder: they are seen, hashed and told of as all others, but go the way of `PortraitService`
// instead of the upload machine's.
extension Uploader {
    /// The service, where a path is one of its.
    func portrait(for path: RelativePath) -> PortraitService? {
        guard let portrait = parts.portrait, path != portrait.folder, path.isWithin(portrait.folder) else { return nil }
        return portrait.service
    }

    /// The drops of the portrait folder, in no particular order.
    private var portraitDrops: [DropRecord] {
        guard let folder = parts.portrait?.folder else { return [] }
        return drops.paths(within: folder).compactMap { $0 == folder ? nil : drops[$0] }
    }

    /// Sets the service in motion with what was under way when the agent ended.
    func startPortrait() {
        guard let service = parts.portrait?.service else { return }
        service.start(
            PortraitOutlets(
                report: { [weak self] report in self?.run { $0.take(report) } },
                reconsider: { [weak self] path in self?.run { $0.lookAgain(at: path) } },
                sessionRefused: { [weak self] error in self?.run { $0.refused(error) } },
                announce: { [events] _, profile in events.publish(profile: profile) }),
            isAllPaused: machine.isPaused)
        for record in portraitDrops where record.key != nil {
            foundPortraits[record.path] = record
        }
    }

    /// Hands over the pictures that were dropped while no agent ran, once all of them are known: only the newest is to be sent.
    /// They wait for a picture that settles or is hashed still, since it may be the newest.
    func sendFoundPortraits() {
        guard hasScanned, !foundPortraits.isEmpty, !foundPortraits.values.contains(nil),
            !hashing.contains(where: { $1.isFound && portrait(for: $0) != nil }),
            !portraitDrops.contains(where: { $0.key == nil && !$0.state.isFinal })
        else { return }
        let found = foundPortraits.values.compactMap(\.self).compactMap(current).filter { !$0.state.isFinal }
        foundPortraits = [:]
        // The newest first: the others are superseded by it then before anything is done for them.
        for record in found.sorted(by: { $0.identity?.changed ?? 0 > $1.identity?.changed ?? 0 }) {
            if let service = portrait(for: record.path) { send(record, to: service, .found) }
        }
    }

    /// Takes a picture of the portrait folder whose content is known now.
    func accept(portrait drop: DropRecord, instead old: DropRecord?, to service: PortraitService, _ order: DropOrder) {
        if let old, let key = old.key, machine.view(of: key, from: drop.path) != nil {
            process([.leave(drop.path, key)])
        }
        if let old, old.key == drop.key, old.identity.map({ drop.identity?.isSameFile(as: $0) == true }) == true,
            old.state.isFinal, !old.wasRemoved
        {
            // Only its attributes changed; it was dealt with.
            var record = old
            record.identity = drop.identity
            return process([], writes: [keep(record)], reporting: drop.path)
        }
        var record = drop
        record.state = drop.state == .paused || wishes.paused.contains(drop.path) ? .paused : .queued
        record.error = nil
        record.remote = nil
        record.finishedAt = nil
        record.attempts = 0
        portraits[record.path] = nil
        forgetIntake(of: record.path)
        let joinsFound = order == .found || !foundPortraits.isEmpty
        if joinsFound { foundPortraits.updateValue(nil, forKey: record.path) }
        commit([keep(record)]) { [record] uploader in
            if joinsFound {
                uploader.foundPortraits.updateValue(record, forKey: record.path)
                uploader.sendFoundPortraits()
            } else if let current = uploader.current(record) {
                uploader.send(current, to: service, order)
            }
        }
        report(record)
    }

    /// What is known now of a drop that may have got another name.
    private func current(_ drop: DropRecord) -> DropRecord? {
        if let record = drops[drop.path], record.key == drop.key { return record }
        return portraitDrops.first { $0.key == drop.key && $0.identity?.inode == drop.identity?.inode }
    }

    private func send(_ record: DropRecord, to service: PortraitService, _ order: DropOrder) {
        guard let key = record.key, let identity = record.identity else { return }
        service.dropped(
            PortraitDrop(
                path: record.path, key: key, identity: identity, type: record.type ?? .other,
                acceptedAt: record.acceptedAt, isPaused: record.state == .paused), order)
    }

    private func take(_ told: PortraitReport) {
        guard var record = record(of: told.path), record.key == told.key, !record.state.isFinal,
            portrait(for: told.path) != nil
        else { return }
        guard told.state.isFinal else {
            portraits[told.path] = told
            return report(record)
        }
        portraits[told.path] = nil
        record.state = told.state
        record.error = told.error
        record.attempts = told.attempts
        record.startedAt = told.startedAt
        record.finishedAt = told.finishedAt ?? now.wall
        record.remote = told.remoteURL.map { RemoteObject(id: nil, url: $0) }
        process([], writes: [keep(record)], reporting: told.path)
    }

    /// Moves a file that is in the portrait folder, or will be: within it the file stays what it is, on the way in or out
    /// it becomes another thing.
    func move(
        portrait old: DropRecord, to path: RelativePath, wasHashing: Bool, _ events: [MachineEvent]
    ) {
        let told = portraits.removeValue(forKey: old.path)
        if let service = portrait(for: old.path), portrait(for: path) != nil, old.key != nil, old.state != .settling {
            portraits[path] = told
            service.renamed(old.path, to: path)
            return carry(old, to: path, wasHashing: wasHashing, events)
        }
        var events = events
        if let key = old.key, !old.state.isFinal {
            if let service = portrait(for: old.path) {
                service.removed(old.path, key)
            } else {
                events.append(.leave(old.path, key))
            }
        }
        if old.state == .paused { wishes.paused.insert(path) }
        settleAgain(old, as: path, events)
    }

    private func refused(_ error: FileError) {
        parts.logger.warning(
            "the server refused the session; the profile picture that waited is discarded",
            metadata: ["reason": "\(error.message)"])
        pollCredentials()
    }

    /// Says what the service told last of a path.
    func describe(_ told: PortraitReport, in report: inout FileReport) {
        report.state = told.state
        report.error = told.error
        report.attempts = told.attempts
        report.nextAttemptAt = told.nextAttemptAt
        report.startedAt = told.startedAt
    }

    // MARK: What users do about them

    /// Does what is wanted of a portrait whose content is known.
    ///
    /// - Returns: why not, where nothing was to be done.
    func act(_ action: FileAction, onPortrait record: DropRecord, of service: PortraitService) -> String? {
        switch action {
        case .pause, .resume:
            let isPaused = action == .pause
            if (record.state == .paused) == isPaused { return isPaused ? "it is paused already" : "it is not paused" }
            var changed = record
            changed.state = isPaused ? .paused : .queued
            process([], writes: [keep(changed)])
            service.setPaused(isPaused, record.path)
            report(changed)
        case .cancel:
            guard let key = record.key else { return nil }
            service.cancelled(record.path, key)
            // Handed over already, it may be on the server by now; the service tells.
            guard portraits[record.path] == nil else { return nil }
            var ended = record
            ended.state = .cancelled
            ended.finishedAt = now.wall
            ended.error = FileError(code: "cancelled", message: "cancelled by the user", retryable: false)
            process([], writes: [keep(ended)], reporting: record.path)
        case .retry: service.retry(record.path)
        case .first: return "profile pictures go their own way, beside all uploads"
        }
        return nil
    }
}
