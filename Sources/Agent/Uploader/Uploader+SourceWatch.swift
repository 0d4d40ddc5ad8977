import ControlAPI
import FileWatch
import Intake
import Ledger
import LinuxSystem
import Logging
import Reports
import Sidecars
import SystemPackage
import UploadCore

// Handles watch events about sources: `source.toml` appears, changes or vanishes, or files beside it move.
extension Uploader {
    /// Handles a watch event as far as it concerns sources.
    ///
    /// - Returns: whether the event is fully handled.
    func takeForSources(_ event: WatchEvent) -> Bool {
        switch event {
        case .seen(let path):
            stir(path)
            guard let directory = sourceDirectory(of: path) else { return false }
            book.stays(path)
            foundSource(directory)
            return true
        case .ready(let path, let status):
            guard let directory = sourceDirectory(of: path) else { return false }
            book.stays(path)
            foundSource(directory)
            readDescription(of: directory, FileIdentity(status))
            return true
        case .odd(let path, _), .unreadable(let path, _):
            guard let directory = sourceDirectory(of: path) else { return false }
            book.stays(path)
            foundSource(directory)
            readDescription(of: directory, nil)
            return true
        case .gone(let path):
            stir(path)
            guard !book.outboxIsLost else { return false }
            for directory in sources.directories(within: path) { leaves(directory) }
            guard let directory = sourceDirectory(of: path) else { return false }
            leaves(directory)
            return true
        case .renamed(let old, let new, let isDirectory):
            stir(old)
            stir(new)
            if isDirectory { moveSources(within: old, to: new) }
            return !isDirectory && renamedDescription(old, new)
        default: return false
        }
    }

    /// Returns the directory that a path, as its `source.toml`, makes a source; `nil` for any other path.
    func sourceDirectory(of path: RelativePath) -> RelativePath? {
        guard let directory = SourcePlaces.directory(of: path), !book.isPortrait(path) else { return nil }
        // A `source.toml` below a source is an ordinary file of that source.
        return sources.directory(above: directory.parent) == nil ? directory : nil
    }

    /// Looks for a `source.toml` in the directories above an accepted file, in case the watch has not reported the
    /// source yet.
    func lookForSource(above path: RelativePath) {
        var directory = path.parent
        while !directory.bytes.isEmpty, sources.directory(above: directory) == nil {
            let description = SourcePlaces.description(of: directory)
            if sourceDirectory(of: description) != nil, !parts.rules.isIgnored(description),
                (try? parts.files.status(of: description))?.kind == .regular
            {
                foundSource(directory)
            }
            directory = directory.parent
        }
    }

    /// Maximum number of names that are read when a directory becomes a source: far more than a source may have.
    private static let mostNames = 10_000

    private func stir(_ path: RelativePath) {
        guard let directory = sources.directory(above: path), path != directory else { return }
        tell(directory, [.moved])
    }

    /// How long a source waits for the watch to report existing files. The watch reports polled files within seconds.
    private static let watchPatience = Duration.seconds(60)

    /// Whether a source has files that the watch has not reported. Checked just before the source is taken. On a busy
    /// machine or a slow disk, a quiet watch proves little. The unreported files are examined again.
    func holdsUnheard(_ directory: RelativePath) -> Bool {
        let now = self.now.monotonic
        guard let entry = sources[directory], entry.machine.isAboutToBeTaken(at: now),
            entry.machine.files.count <= SourceRecord.mostFiles
        else { return false }
        let since = entry.waitsForWatchSince ?? now
        let unheard = now < since + Self.watchPatience ? unheardFiles(of: directory) : []
        sources[directory]?.waitsForWatchSince = unheard.isEmpty ? nil : since
        for path in unheard { reconsider(path) }
        return !unheard.isEmpty
    }

    private func unheardFiles(of directory: RelativePath) -> [RelativePath] {
        let description = SourcePlaces.description(of: directory)
        return parts.files.names(below: directory, atMost: Self.mostNames).filter { path in
            path != description && record(of: path)?.wasRemoved != false && !isIgnored(path, within: directory)
        }
    }

    /// Whether the file is ignored, or a directory between the file and its source is.
    private func isIgnored(_ path: RelativePath, within directory: RelativePath) -> Bool {
        var part = path
        while part != directory, !part.bytes.isEmpty {
            if parts.rules.isIgnored(part) { return true }
            part = part.parent
        }
        return false
    }

    // MARK: source.toml

    /// Handles a `source.toml` found in a directory.
    private func foundSource(_ directory: RelativePath) {
        let mark = mark(of: directory)
        var isPaused = false
        if let known = sources[directory] {
            guard isOver(known, mark) else { return recognise(directory, as: mark) }
            isPaused = isPausedStill(known.record, mark)
            forgetSource(directory)
        }
        for inner in sources.directories(within: directory) where inner != directory {
            dissolve(inner)
            reconsider(SourcePlaces.description(of: inner))
        }
        if let old = sources.directory(marked: mark), parts.files.isGone(SourcePlaces.description(of: old)),
            let known = sources[old]?.record
        {
            guard known.wasRemoved else { return moveSources(within: old, to: directory) }
            isPaused = isPausedStill(known, mark)
            forgetSource(old)
        }
        let record = takeDeparted(directory, mark) ?? newSource(directory, mark, isPaused: isPaused)
        sources[directory] = SourceBook.Entry(machine: SourceMachine(record: record, now: now))
        process([], writes: [.source(record)])
        var events: [SourceEvent] = []
        var underWay: [RelativePath] = []
        for path in parts.files.names(below: directory, atMost: Self.mostNames) {
            // The agent gave the file up when its directory was removed. Now the file is back.
            if let drop = self.record(of: path), drop.wasRemoved { handle(.retry(path)) }
            guard let drop = self.record(of: path), drop.hasFile, source(of: drop) == directory,
                let name = path.relative(to: directory)
            else { continue }
            events.append(SourceEvent(drop, name))
            if drop.key != nil, !drop.state.isFinal { underWay.append(name) }
        }
        tell(directory, [.adopt(underWay)] + events + [.moved] + recoveredWishes(ofSource: directory))
        report(source: directory)
    }

    private func newSource(
        _ directory: RelativePath, _ mark: SourceRecord.DirectoryMark?, isPaused: Bool
    ) -> SourceRecord {
        let description = try? parts.files.status(of: SourcePlaces.description(of: directory))
        var record = SourceRecord(
            id: Self.newSourceID(), directory: directory, account: newOwner(changed: description?.changed),
            stage: .collecting, acceptedAt: now.wall)
        record.mark = mark
        record.isPaused = isPaused
        return record
    }

    /// Returns the post of a directory that left the outbox during this run and is back. The confirmed post is not
    /// posted again.
    private func takeDeparted(_ directory: RelativePath, _ mark: SourceRecord.DirectoryMark?) -> SourceRecord? {
        guard let mark, var record = departedPosts[mark] else { return nil }
        departedPosts[mark] = nil
        record.directory = directory
        return record
    }

    /// Returns the identity of a directory; `nil` if the file system keeps no birth times, since inode numbers are
    /// reused.
    func mark(of directory: RelativePath) -> SourceRecord.DirectoryMark? {
        guard let status = try? parts.files.status(of: directory), status.born != 0 else { return nil }
        return SourceRecord.DirectoryMark(inode: status.inode, born: status.born)
    }

    /// Whether a directory recreated under the same name is another post. A source under way continues with the files
    /// that are in the directory now.
    private func isOver(_ entry: SourceBook.Entry, _ mark: SourceRecord.DirectoryMark?) -> Bool {
        if entry.record.wasRemoved { return true }
        switch entry.record.stage {
        case .done, .failed, .cancelled:
            guard let mark, let old = entry.record.mark, mark != old else { return false }
            return !holdsItsFiles(entry)
        case .draft, .collecting, .uploading, .committing, .rejected: return false
        }
    }

    /// Whether one of the source's files is unchanged in its directory. In that case, the directory was restored from
    /// a copy or moved here with the whole outbox. In another outbox the size alone decides, since not every way of
    /// copying keeps times.
    private func holdsItsFiles(_ entry: SourceBook.Entry) -> Bool {
        let record = entry.record
        let isInOtherOutbox = sourcesElsewhere.contains(record.directory)
        var names = Set(entry.machine.files.keys).union(record.files.keys)
        if let post = record.post { names.formUnion(post.files.keys) }
        return names.contains { name in
            let path = record.directory.appending(name.bytes)
            guard let known = self.record(of: path)?.identity, let status = try? parts.files.status(of: path),
                status.kind == .regular
            else { return false }
            return known.size == status.size && (known.modified == status.modified || isInOtherOutbox)
        }
    }

    /// Continues the known source in a directory, even if the directory's mark differs.
    private func recognise(_ directory: RelativePath, as mark: SourceRecord.DirectoryMark?) {
        sourcesElsewhere.remove(directory)
        guard let mark, var entry = sources[directory] else { return }
        let actions = entry.machine.recognise(as: mark)
        guard !actions.isEmpty else { return }
        sources[directory] = entry
        perform(actions, of: directory)
    }

    /// Whether a source that vanished with its directory returns paused: the user paused this very directory.
    private func isPausedStill(_ record: SourceRecord, _ mark: SourceRecord.DirectoryMark?) -> Bool {
        record.isPaused && record.wasRemoved && mark != nil && mark == record.mark
    }

    static func newSourceID() -> String {
        UInt64.random(in: .min ... .max).hexadecimal + UInt64.random(in: .min ... .max).hexadecimal
    }

    private func readDescription(of directory: RelativePath, _ identity: FileIdentity?) {
        // Scans report unchanged files again.
        if let identity, sources[directory]?.descriptionFile == identity { return }
        // The next scan reads a file again if it may be overwritten without a trace.
        let isRacy = identity?.isRacy(readAt: now.wall.milliseconds * 1_000_000) == true
        sources[directory]?.descriptionFile = isRacy ? nil : identity
        switch SourceDescriptionReader(files: parts.files).read(directory) {
        case .success(let description): tell(directory, [.described(description)])
        // An editor is replacing the file. The watch reports the new file.
        case .failure(let error) where error.retryable: sources[directory]?.descriptionFile = nil
        case .failure(let error):
            parts.logger.warning(
                "a post is rejected", metadata: ["source": "\(directory)", "reason": "\(error.message)"])
            tell(directory, [.malformed(error)])
        }
    }

    /// - Returns: whether the new name is a `source.toml`.
    private func renamedDescription(_ old: RelativePath, _ new: RelativePath) -> Bool {
        let (from, to) = (sourceDirectory(of: old), sourceDirectory(of: new))
        if let from { leaves(from) }
        guard let to else { return false }
        // The editor's temporary file may have been queued as an ordinary file.
        book.forgetIntake(of: old)
        if record(of: old) != nil { handle(.forget(old)) }
        book.stays(new)
        foundSource(to)
        reconsider(new)
        return true
    }

    /// Starts the grace period of a vanished `source.toml`.
    func leaves(_ directory: RelativePath) {
        guard sources[directory] != nil else { return }
        book.leaves(SourcePlaces.description(of: directory), now: now.monotonic)
    }

    /// Handles a file that stayed away for the whole grace period. If the whole source vanished, handle the source
    /// first: otherwise its remaining files would look like the complete source.
    func sourceWentWith(_ path: RelativePath) {
        guard let directory = sources.directory(above: path.parent) else { return }
        if parts.files.isGone(SourcePlaces.description(of: directory)) { descriptionRemoved(from: directory) }
    }

    /// Handles a `source.toml` that stayed away for the whole grace period.
    func descriptionRemoved(from directory: RelativePath) {
        guard let record = sources[directory]?.record else { return }
        sources[directory]?.descriptionFile = nil
        if (try? parts.files.status(of: directory))?.kind == .directory { return dissolve(directory) }
        switch record.stage {
        case .draft, .collecting, .uploading, .committing: tell(directory, [.removed])
        case .cancelled where record.wasRemoved: break
        case .done:
            if let mark = record.mark { departedPosts[mark] = record }
            forgetSource(directory)
        case .failed, .rejected, .cancelled: forgetSource(directory)
        }
    }

    /// Turns a source into an ordinary directory with ordinary files.
    private func dissolve(_ directory: RelativePath) {
        guard let entry = sources[directory] else { return }
        let names = entry.machine.files.keys
        forgetSource(directory)
        parts.sidecars.remove(source: directory)
        var events: [MachineEvent] = []
        for path in names.map({ directory.appending($0.bytes) }) {
            guard let record = book.drops[path], let key = record.key, !book.isPaused(record) else { continue }
            events.append(.setPaused(path, key, isHeldBySource(record)))
        }
        process(events)
        for name in names { if let record = record(of: directory.appending(name.bytes)) { announce(record) } }
    }

    /// Forgets a source but keeps its files.
    func forgetSource(_ directory: RelativePath) {
        guard let id = sources[directory]?.record.id else { return }
        sources[directory] = nil
        changedSources.remove(directory)
        process([.gather(id, []), .withdrawCommit(id)], writes: [.forgetSource(id)])
        events.publish(sourceGone: id, directory)
    }

    // MARK: Names

    /// Moves the sources of a renamed directory.
    private func moveSources(within old: RelativePath, to new: RelativePath) {
        for directory in sources.directories(within: old) {
            guard let target = directory.moved(from: old, to: new), var entry = sources[directory] else { continue }
            book.stays(SourcePlaces.description(of: directory))
            book.stays(SourcePlaces.description(of: target))
            // The rename replaced the source at the new place.
            forgetSource(target)
            sources[directory] = nil
            changedSources.remove(directory)
            let actions = entry.machine.move(to: target)
            sources[target] = entry
            parts.sidecars.remove(source: directory)
            perform(actions, of: target)
            if sources.directory(above: target.parent) != nil { joinOuter(target) }
        }
    }

    /// Turns a source that moved into another source into a part of the outer source.
    private func joinOuter(_ directory: RelativePath) {
        dissolve(directory)
        reconsider(SourcePlaces.description(of: directory))
        for path in parts.files.names(below: directory, atMost: Self.mostNames) {
            if let record = record(of: path) { tellSource(of: record) }
        }
    }

    /// Tells a source about the loss of a file.
    func tellSource(gone record: DropRecord) {
        guard record.hasFile, let directory = source(of: record), let name = record.path.relative(to: directory) else {
            return
        }
        tell(directory, [.gone(name)])
    }

    /// Tells the source, or the sources, that a file was renamed.
    func tellSource(from old: DropRecord, to record: DropRecord) {
        let (from, to) = (source(of: old), source(of: record))
        guard let from, let name = old.path.relative(to: from) else { return }
        if from == to, let new = record.path.relative(to: from) {
            tell(from, [.renamed(name, to: new)])
        } else {
            tell(from, [.gone(name)])
        }
    }
}
