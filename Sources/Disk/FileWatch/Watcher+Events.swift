import Glibc
import LinuxSystem
import UploadCore

extension Watcher {
    /// Handles all queued events.
    func takeEvents(below root: Directory) {
        guard let (chunks, isOverflowed) = inotify?.take() else { return }
        for chunk in chunks {
            RawEvent.parse(chunk) { event in
                counters.events += 1
                handle(event, below: root)
            }
        }
        if isOverflowed { repairLoss() }
    }

    /// Reports a name as gone if no second half of its rename came in time.
    func giveUpDepartures(below root: Directory) {
        for departure in pairing.expired(now: Self.now()) { depart(departure, below: root) }
    }

    /// Adds a new or possibly new directory and queues it for listing.
    func discover(_ name: [UInt8], in parent: WatchTree.ID, _ purpose: ScanQueue.Purpose) {
        guard let (id, _) = tree.add(name, to: parent) else { return }
        scans.push(id, purpose)
    }

    /// Ends watches.
    func unwatch(_ watches: [Int32]) {
        for watch in watches { inotify?.unwatch(watch) }
    }

    private func repairLoss() {
        counters.overflows += 1
        tell(.overflowed)
        scans.wantFull()
    }

    private func handle(_ event: RawEvent, below root: Directory) {
        if event.has(IN_Q_OVERFLOW) {
            tell(.queuedEvents, at: .root)
            return repairLoss()
        }
        if event.has(IN_IGNORED) {
            // Either the directory was removed, which its parent's watch reports, or its file system was unmounted.
            if let id = tree.unbind(event.watch) { scans.push(id, .verify) }
            return
        }
        guard let directory = tree.directory(of: event.watch), let path = tree.path(directory) else {
            return unanswered.noteEvent(of: event.watch)
        }
        if event.name.isEmpty {
            // The permissions of the outbox changed; for other directories the parent's watch reports the change too.
            if event.has(IN_ATTRIB) && directory == WatchTree.root { scans.push(directory, .verify) }
            return
        }
        let child = path.appending(event.name)
        if event.has(IN_MOVED_FROM) {
            let departure = MovePairing.Departure(path: child, isDirectory: event.isDirectory)
            return pairing.depart(departure, cookie: event.cookie, now: Self.now())
        }
        if let departure = pairing.giveUp(on: child) { depart(departure, below: root) }
        if event.has(IN_MOVED_TO) {
            arrive(event, at: child, in: directory, below: root)
        } else if !options.isIgnored(child, event.isDirectory) {
            if event.isDirectory {
                handleDirectory(event, child, in: directory, below: root)
            } else {
                handleFile(event, child, below: root)
            }
        }
    }

    private func handleFile(_ event: RawEvent, _ path: RelativePath, below root: Directory) {
        if event.has(IN_CREATE) {
            note(path, .appeared)
        } else if event.has(IN_CLOSE_WRITE) {
            note(path, .written)
        } else if event.has(IN_DELETE) {
            forget(path, isDirectory: false, below: root)
        } else if event.has(IN_ATTRIB) {
            note(path, .touched)
        }
    }

    private func handleDirectory(
        _ event: RawEvent, _ path: RelativePath, in parent: WatchTree.ID, below root: Directory
    ) {
        if event.has(IN_CREATE) {
            // A scan may have listed the directory already; if the directory was recreated, its removal came first.
            if let id = tree.child(event.name, of: parent), tree.isListed(id) { return }
            discover(event.name, in: parent, .fresh)
        } else if event.has(IN_DELETE) {
            forget(path, isDirectory: true, below: root)
        } else if event.has(IN_ATTRIB) {
            discover(event.name, in: parent, .verify)
        }
    }

    /// - Parameter root: the outbox, if the file may have been quiet for some time already.
    private func note(_ path: RelativePath, _ cause: Settler.Cause, below root: Directory? = nil) {
        if !settler.contains(path), mustDefer(path), let id = tree.find(path.parent) {
            scans.count(path)
            return deferFile(Array(path.name), in: id)
        }
        let status = root.flatMap { try? self.status(of: path, below: $0) }
        let quiet = status.map { settler.quietTimeLeft($0, wall: wallTimeNanoseconds()) }
        if settler.note(path, cause, now: Self.now(), quiet: quiet) { tell(.seen(path)) }
    }

    /// Handles the second half of a rename, or a file or directory moved in from outside.
    private func arrive(_ event: RawEvent, at path: RelativePath, in parent: WatchTree.ID, below root: Directory) {
        let departure = pairing.arrive(cookie: event.cookie)
        let isIgnored = options.isIgnored(path, event.isDirectory)
        switch departure {
        case .some(let departure) where isIgnored: depart(departure, below: root)
        case .some(let departure) where !options.isIgnored(departure.path, departure.isDirectory):
            if event.isDirectory {
                renameDirectory(from: departure.path, to: path, in: parent, below: root)
            } else {
                renameFile(from: departure.path, to: path, below: root)
            }
        default:
            if isIgnored { return }
            if event.isDirectory {
                discover(event.name, in: parent, .fresh)
            } else {
                note(path, .written, below: root)
            }
        }
    }

    private func renameFile(from old: RelativePath, to new: RelativePath, below root: Directory) {
        settler.move(from: old, to: new, isDirectory: false)
        tell(.renamed(from: old, to: new, isDirectory: false))
        note(new, .touched)
        if isOnlySpelled(old, for: new, below: root) { return }
        // After an exchange of two names (man 2 renameat2), the old name belongs to another file.
        note(old, .touched)
    }

    private func renameDirectory(
        from old: RelativePath, to new: RelativePath, in parent: WatchTree.ID, below root: Directory
    ) {
        for departure in pairing.move(from: old, to: new) { depart(departure, below: root) }
        settler.move(from: old, to: new, isDirectory: true)
        mounts.move(from: old, to: new)
        tell(.renamed(from: old, to: new, isDirectory: true))
        if let id = tree.find(old), let displaced = tree.move(id, to: parent, as: Array(new.name)) {
            unwatch(displaced)
            for unlisted in tree.unlisted(at: id) { scans.push(unlisted, .fresh) }
            if tree.watch(of: id) == nil { scans.push(id, .verify) }
            // The rename may have moved the directory from an unscanned part of the tree to an already scanned part.
            if scans.summary != nil { scans.push(id, .full) }
        } else {
            discover(Array(new.name), in: parent, .verify)
        }
        if isOnlySpelled(old, for: new, below: root) { return }
        // After an exchange of two names, the old name belongs to another directory.
        if let status = try? self.status(of: old, below: root), status.kind == .directory,
            let parent = tree.find(old.parent)
        {
            discover(Array(old.name), in: parent, .verify)
        }
    }

    /// Whether a renamed file's old name is no name of its own: it leads to the file only because the file system ignores
    /// case.
    private func isOnlySpelled(_ old: RelativePath, for new: RelativePath, below root: Directory) -> Bool {
        // Most renames need no look at the disk.
        guard "\(old)".lowercased() == "\(new)".lowercased() else { return false }
        return !kernel.lists(root, old)
    }

    private func depart(_ departure: MovePairing.Departure, below root: Directory) {
        if options.isIgnored(departure.path, departure.isDirectory) { return }
        forget(departure.path, isDirectory: departure.isDirectory, below: root)
    }

    private func forget(_ path: RelativePath, isDirectory: Bool, below root: Directory) {
        if isDirectory {
            // Some programs, such as udisks, remove a mount point right after unmounting its file system.
            takeMounts(below: root)
            // `gone` speaks for everything that was below.
            _ = pairing.giveUp(within: path)
        }
        settler.remove(path, isDirectory: isDirectory)
        if isDirectory, let id = tree.find(path) { removeDirectory(id) }
        tellGone(path)
    }

    /// Removes a directory with everything below it, and ends the watches.
    func removeDirectory(_ id: WatchTree.ID) {
        unwatch(tree.remove(id))
    }
}
