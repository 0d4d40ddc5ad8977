import Intake
import Ledger
import Logging
import Remotes
import Reports
import UploadCore

// Several files as one post: events for a source's machine, and its decisions.
//
// A file of a source is an ordinary file: watched, hashed, and a waiter of its upload. While the source holds the
// file, the waiter is paused. Nothing else differs.
extension Uploader {
    // MARK: Events

    /// Passes events to a source's machine and carries out its decisions at once. Events that arrive meanwhile are
    /// handled afterwards.
    func tell(_ directory: RelativePath, _ events: [SourceEvent]) {
        untold.append((directory, events))
        guard !isTelling else { return }
        isTelling = true
        defer { isTelling = false }
        while !untold.isEmpty {
            let (directory, told) = untold.removeFirst()
            let events = holdsUnheard(directory) ? [.moved] + told : told
            guard let actions = sources[directory]?.machine.handle(events, now: now) else { continue }
            perform(actions, of: directory)
        }
        setAlarm()
    }

    /// Passes a file's state to the file's source, if it has one.
    func tellSource(of record: DropRecord) {
        guard let directory = source(of: record), let name = record.path.relative(to: directory) else { return }
        if record.hasFile { tell(directory, [SourceEvent(record, name)]) }
        noteChange(of: directory)
    }

    /// Returns the source of a drop: the source's directory contains the drop, and both belong to the same account.
    func source(of record: DropRecord) -> RelativePath? {
        guard let directory = sources.directory(above: record.path), let source = sources[directory]?.record else {
            return nil
        }
        let present = ownership.present
        let isSame = (ownership.owner(record.account) ?? present) == (ownership.owner(source.account) ?? present)
        return isSame ? directory : nil
    }

    /// Whether a file's source holds the file back.
    func isHeldBySource(_ record: DropRecord) -> Bool {
        guard let directory = source(of: record), let name = record.path.relative(to: directory),
            let machine = sources[directory]?.machine
        else { return false }
        return machine.holds(name, with: record.key)
    }

    /// Whether a confirmed file must stay in the outbox because its source is not confirmed yet.
    func isKeptBySource(_ record: DropRecord) -> Bool {
        source(of: record).flatMap { sources[$0] }?.machine.keepsFiles ?? false
    }

    /// Handles the deadlines of the sources.
    func tickSources() {
        guard book.hasScanned, !book.outboxIsLost else { return }
        let now = self.now.monotonic
        for directory in sources.waiting.sorted() {
            guard let entry = sources[directory], let deadline = entry.machine.nextDeadline, deadline <= now,
                !isParked(entry.record)
            else { continue }
            tell(directory, [.tick])
        }
    }

    /// Whether a source waits until its owner signs in.
    func isParked(_ source: SourceRecord) -> Bool { ownership.isParked(source.account) }

    // MARK: Actions

    func perform(_ actions: [SourceAction], of directory: RelativePath) {
        guard let record = sources[directory]?.record else { return }
        var decided = Decided()
        var retried: [RelativePath] = []
        for action in actions {
            switch action {
            case .store: decided.writes.append(.source(record))
            case .commit(let commit, let forgotten):
                if !isParked(record) { decided.events.append(.commit(commit, forgotten: forgotten)) }
            case .withdrawCommit: decided.events.append(.withdrawCommit(record.id))
            case .verify(let names): verify(names, in: directory, &decided)
            case .discardFiles(let names, let error): discard(names, in: directory, error, &decided)
            case .retryFiles(let names): retried += names.map { directory.appending($0.bytes) }
            case .changed: holdFiles(of: directory, &decided)
            }
        }
        if let entry = sources[directory], entry.toldStage != record.stage {
            sources[directory]?.toldStage = record.stage
            decided.paths += entry.machine.files.keys.map { directory.appending($0.bytes) }.filter {
                book.drops[$0] != nil
            }
        }
        if !decided.events.isEmpty || !decided.writes.isEmpty { process(decided.events, writes: decided.writes) }
        for path in retried { retryFile(path, in: directory) }
        if actions.contains(.store) || !decided.paths.isEmpty {
            tellWhenDurable(directory, decided.paths)
        } else if actions.contains(.changed) {
            noteChange(of: directory)
        }
    }

    private func retryFile(_ path: RelativePath, in directory: RelativePath) {
        if record(of: path) != nil, handle(.retry(path)) == nil { return }
        if let name = path.relative(to: directory), parts.files.isGone(path) { tell(directory, [.gone(name)]) }
    }

    /// The effects of a source's decisions. They go to the upload machine and the ledger in one step.
    private struct Decided {
        var events: [MachineEvent] = []
        var writes: [LedgerWrite] = []
        /// Files with a changed report.
        var paths: [RelativePath] = []
    }

    private func tellWhenDurable(_ directory: RelativePath, _ paths: [RelativePath]) {
        commit([]) { uploader in
            for path in paths { if let record = uploader.record(of: path) { uploader.announce(record) } }
            uploader.report(source: directory)
            uploader.retireFiles(of: directory)
        }
    }

    /// Tells the upload machine which files may be sent and which belong together.
    private func holdFiles(of directory: RelativePath, _ decided: inout Decided) {
        guard let entry = sources[directory] else { return }
        let gathered = isParked(entry.record) ? [] : entry.machine.gathered
        if gathered != entry.gathered {
            sources[directory]?.gathered = gathered
            decided.events.append(.gather(entry.record.id, gathered))
        }
        for (name, file) in entry.machine.files.sorted(by: { $0.key < $1.key }) {
            let path = directory.appending(name.bytes)
            guard let key = file.key, let record = book.drops[path], record.key == key,
                let isPaused = machine.isPaused(path, of: key)
            else { continue }
            let isHeld = entry.machine.holds(name) || book.isPaused(record)
            guard isHeld != isPaused else { continue }
            decided.events.append(.setPaused(path, key, isHeld))
            decided.paths.append(path)
        }
    }

    /// Has the upload machine ask the server whether confirmed contents still exist.
    private func verify(
        _ names: [RelativePath], in directory: RelativePath, _ decided: inout Decided
    ) {
        for path in names.map({ directory.appending($0.bytes) }) {
            // Always reported, since the report is the answer to the source.
            decided.paths.append(path)
            guard var record = record(of: path), record.state == .done, let key = record.key,
                let remote = record.remote,
                let seal = confirmation(of: key)?.seal
            else { continue }
            record.state = .queued
            record.finishedAt = nil
            decided.writes.append(book.keep(record))
            decided.events.append(.verify(path, DropContent(key: key, seal: seal), remote, paused: false))
        }
    }

    /// Gives files up. Also discards their confirmed contents on the server if no other path needs them.
    private func discard(
        _ names: [RelativePath], in directory: RelativePath, _ error: FileError, _ decided: inout Decided
    ) {
        let paths = Set(names.map { directory.appending($0.bytes) })
        for path in paths.sorted() {
            guard var record = record(of: path), record.state != .cancelled, record.state != .rejected else { continue }
            if let key = record.key {
                if record.state == .done, wasSent(record, for: directory) { discard(key, record, but: paths, &decided) }
                decided.events.append(.leave(path, key))
            }
            book.forgetIntake(of: path)
            record.state = .cancelled
            record.error = error
            record.finishedAt = now.wall
            record.remote = nil
            decided.writes.append(book.keep(record))
            decided.paths.append(path)
        }
    }

    /// Whether a content was sent for this source. Contents that the server had before stay there.
    private func wasSent(_ record: DropRecord, for directory: RelativePath) -> Bool {
        guard !record.deduplicated, let end = record.finishedAt, let source = sources[directory]?.record else {
            return false
        }
        return end.milliseconds >= source.acceptedAt.milliseconds
    }

    private func discard(
        _ key: ContentKey, _ record: DropRecord, but paths: Set<RelativePath>, _ decided: inout Decided
    ) {
        let isNeeded = ((try? records(of: key)) ?? [record]).contains { other in
            !paths.contains(other.path) && other.state != .cancelled && other.state != .failed
        }
        guard !isNeeded, !ownership.isParked(record.account) else { return }
        decided.writes.append(.forgetConfirmation(key, parts.remote.scope))
        if let id = record.remote?.id { decided.events.append(.discard([id])) }
    }

    // MARK: Commits

    func commitEnded(_ id: String, revision: Int, _ outcome: CommitOutcome) {
        guard let directory = sources.directory(withID: id) else { return }
        switch outcome {
        case .done(let url):
            parts.logger.info("a post is committed", metadata: ["source": "\(directory)", "url": "\(url ?? "-")"])
        case .refused(let error), .forgotten(let error):
            parts.logger.warning(
                "a post was not committed", metadata: ["source": "\(directory)", "reason": "\(error.message)"])
        }
        tell(directory, [.committed(revision: revision, outcome)])
    }
}
