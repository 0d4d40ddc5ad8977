import Ledger
import LinuxSystem
import UploadCore

// What a user does about files: pause, resume, cancel, retry, first.
extension Uploader {
    func perform(_ action: FileAction, on target: ActionTarget) async -> ActionAnswer? {
        guard let paths = paths(of: target, for: action) else { return nil }
        if target == .all {
            setAll(action)
            actOnSources(action)
        }
        var changed: [RelativePath] = []
        var refused: [(path: RelativePath, reason: String)] = []
        for path in paths {
            if case .file = target { recogniseRename(to: path) }
            if let reason = act(action, on: path) { refused.append((path, reason)) } else { changed.append(path) }
        }
        await parts.ledger.commit([])
        var answer = ActionAnswer()
        answer.changed = changed.compactMap(report(at:))
        answer.unchanged = refused.compactMap { path, reason in
            report(at: path).map { ActionAnswer.Unchanged(file: $0, reason: reason) }
        }
        return answer
    }

    func report(at path: RelativePath) -> FileReport? { record(of: path).map(makeReport) }

    /// The paths that are meant, ordered; nil where nothing bears the id or key.
    private func paths(of target: ActionTarget, for action: FileAction) -> [RelativePath]? {
        switch target {
        case .file(let id): return (path(withID: id) ?? latestPath(withFormerID: id)).map { [$0] }
        case .upload(let key):
            let paths = Set(drops.values.filter { $0.key == key }.map(\.path))
                .union(
                    ((try? parts.ledger.drops(of: key)) ?? []).filter {
                        record(of: $0).map { $0.key == key && !$0.isTrace } ?? false
                    })
            return paths.isEmpty ? nil : paths.sorted()
        case .all: return allPaths(for: action).sorted()
        }
    }

    func path(withID id: String) -> RelativePath? {
        if let path = (try? parts.ledger.drop(withIdentifier: id))?.path, let record = record(of: path) {
            return record.path
        }
        // Not stored yet: being written or hashed.
        let fresh = drops.values.lazy.filter { $0.key == nil }.map(\.path)
        return (Array(fresh) + unsaved.records.map(\.path)).first { FileReport.id(of: $0) == id }
    }

    /// What an action on everything is about; the rest is as it should be already.
    private func allPaths(for action: FileAction) -> [RelativePath] {
        switch action {
        case .cancel: return drops.values.filter { !isInDraft($0) }.map(\.path)
        case .resume: return drops.values.filter { isPaused($0) }.map(\.path)
        case .retry:
            var paths = drops.values.filter { makeReport($0).state == .waiting }.map(\.path)
            forEachStoredDrop { record in
                // An old portrait would take the place of the newest.
                guard record.state == .failed, drops[record.path] == nil, portrait(for: record.path) == nil else {
                    return
                }
                paths.append(record.path)
            }
            return paths
        // Pausing everything is a state of its own, and the head of the queue is where it was.
        case .pause, .first: return []
        }
    }

    private func setAll(_ action: FileAction) {
        if action == .pause || action == .resume { parts.pauseMark?.set(action == .pause) }
        if action == .pause || action == .resume { parts.portrait?.service.setAllPaused(action == .pause) }
        switch action {
        case .pause: process([.setAllPaused(true)], writes: [.setting(Setting.allPaused, [1])])
        case .resume: process([.setAllPaused(false)], writes: [.setting(Setting.allPaused, nil)])
        case .cancel, .retry, .first: break
        }
    }

    // MARK: One path

    /// Does what is wanted of one path.
    ///
    /// - Returns: why not, where nothing was to be done.
    private func act(_ action: FileAction, on path: RelativePath) -> String? {
        guard let record = record(of: path) else { return "it is gone" }
        if action == .retry || action == .first, let account = ownership.absentOwner(record.account) {
            return "it is \(account)'s; it goes on once \(account) signs in"
        }
        if record.key != nil, record.state != .settling, !record.state.isFinal, let service = portrait(for: path) {
            return act(action, onPortrait: record, of: service)
        }
        switch action {
        case .pause: return pause(record)
        case .resume: return resume(record)
        case .cancel: return cancel(record)
        case .retry: return retry(record)
        case .first: return moveFirst(record)
        }
    }

    /// Whether the user paused the path itself, as opposed to everything.
    func isPaused(_ record: DropRecord) -> Bool { record.state == .paused || wishes.paused.contains(record.path) }

    func pause(_ old: DropRecord) -> String? {
        if old.state.isFinal { return "it is \(old.state.rawValue) already" }
        if isPaused(old) { return "it is paused already" }
        var record = old
        record.state = .paused
        if let key = old.key, old.state != .settling {
            process([.setPaused(old.path, key, true)], writes: [keep(record)])
        } else {
            // Its content is not known yet. A restart finds the wish in the ledger.
            wishes.paused.insert(old.path)
            process([], writes: [old.key == nil ? rememberWishes(for: old) : .drop(record)])
        }
        report(drops[old.path] ?? record)
        return nil
    }

    private func resume(_ old: DropRecord) -> String? {
        if old.state.isFinal { return "it is \(old.state.rawValue) already" }
        guard isPaused(old) else {
            return machine.isPaused ? "everything is paused; `outbox resume --all` goes on" : "it is not paused"
        }
        if wishes.paused.remove(old.path) != nil {
            process([], writes: [rememberWishes(for: old)])
            report(old)
        } else if let key = old.key {
            var record = old
            record.state = .queued
            process(
                [.setPaused(old.path, key, isHeldBySource(record))], writes: [keep(record)], reporting: old.path)
        }
        return machine.isPaused ? "it goes on once `outbox resume --all` lets everything go on" : nil
    }

    private func cancel(_ old: DropRecord) -> String? {
        if old.state.isFinal { return "it is \(old.state.rawValue) already" }
        let events = old.key.map { [MachineEvent.leave(old.path, $0)] } ?? []
        var record = old
        record.state = .cancelled
        record.finishedAt = now.wall
        record.error = FileError(code: "cancelled", message: "cancelled by the user", retryable: false)
        // The file that is there now is not taken again; one that is written anew is.
        if let status = try? parts.files.status(of: old.path) { record.identity = FileIdentity(status) }
        forgetIntake(of: old.path)
        if old.state == .settling {
            wishes.cancelled.insert(old.path)
            record.flags = .cancelledEarly
        }
        process(events, writes: [keep(record)], reporting: old.path)
        return nil
    }

    func retry(_ old: DropRecord) -> String? {
        switch old.state {
        case .done: return "it is done already"
        case .paused: return "it is paused; `outbox resume` lets it go on"
        case .failed, .cancelled, .rejected:
            if parts.files.isGone(old.path) { return "the file is gone" }
            var record = DropRecord(path: old.path, state: .settling, acceptedAt: old.acceptedAt)
            record.account = old.account
            drops[old.path] = record
            process([], writes: [.forgetDrop(old.path)], reporting: old.path)
            reconsider(old.path)
        default:
            guard let key = old.key else { return "it is being looked at for the first time" }
            process([.retry(key)], reporting: old.path)
        }
        return nil
    }

    func moveFirst(_ old: DropRecord) -> String? {
        if old.state.isFinal { return "it is \(old.state.rawValue) already" }
        if let key = old.key, old.state != .settling {
            process([.first(key)], reporting: old.path)
        } else {
            wishes.first.insert(old.path)
            if old.key == nil { process([], writes: [rememberWishes(for: old)]) }
        }
        return nil
    }
}
