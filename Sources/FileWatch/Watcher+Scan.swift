import LinuxSystem
import SystemPackage
import UploadCore

extension Watcher {
    /// Scans until the deadline, and reports deferred files in between.
    func scan(below root: Directory, until deadline: MonotonicTime) {
        while Self.now() < deadline {
            let hasCaughtUp = catchUp(below: root)
            if scans.current != nil {
                workOffSlice()
            } else if let visit = scans.pop() {
                begin(visit, below: root)
            } else if isFullScanOver() {
                return finishFullScan(below: root)
            } else if !hasCaughtUp {
                return
            }
        }
    }

    /// Whether the running full scan has listed all directories, and everything it found is reported.
    private func isFullScanOver() -> Bool {
        guard scans.summary != nil else { return false }
        scans.waitForDeferred(through: deferred.last, now: Self.now())
        return scans.awaited.map(deferred.isDone) ?? false
    }

    private func finishFullScan(below root: Directory) {
        // The scan misses a file that was renamed while the scan passed; only the file's event reports it.
        inotify?.drain()
        takeEvents(below: root)
        takeMounts(below: root)
        guard scans.isIdle, var summary = scans.finishFull(now: Self.now(), pause: options.rescan) else { return }
        polled.keep { tree.contains($0) }
        summary.unwatched = polled.limited
        summary.lostMounts = mounts.lost
        counters.fullScans += 1
        counters.lastScan = WatchCounters.Scan(
            duration: summary.duration, files: summary.files, directories: summary.directories,
            unvouched: summary.unreadable.count + summary.lostMounts.count)
        forgetLimitsThatWentAway()
        tell(.scanned(summary))
    }

    /// Forgets limits that no longer apply, so that a limit reached again is reported again.
    private func forgetLimitsThatWentAway() {
        limitsTold = limitsTold.filter { cause in
            if cause == .queuedEvents { return counters.overflows > overflowsAtLastScan }
            return polled.counts[.limit(cause)] != nil
        }
        overflowsAtLastScan = counters.overflows
    }

    private func begin(_ visit: ScanQueue.Visit, below root: Directory) {
        scans.current = open(visit, below: root)
    }

    /// Opens a directory and lists it, unless names are given. Watches it before, so that no change is missed in between.
    ///
    /// - Parameter names: the only names to look at, if events reported all others; nil for all names.
    /// - Returns: nil if the directory is gone, private or unreadable.
    func open(
        _ visit: ScanQueue.Visit, only names: NameList? = nil, below root: Directory
    ) -> ScanQueue.Listing? {
        guard let path = tree.path(visit.id) else { return nil }
        do {
            let directory = try root.directory(path.bytes)
            if visit.id != WatchTree.root, options.isPrivate(try FileStatus(of: directory.rawValue)) {
                removeDirectory(visit.id)
                return nil
            }
            let watchBefore = tree.watch(of: visit.id)
            if visit.purpose != .poll || !isWatchedAndShared(visit.id) {
                watch(visit.id, directory, at: path, below: root)
            }
            if visit.purpose == .full { scans.countDirectory() }
            // Without a watch until now, events are missing. With another watch, this is another directory, and the event
            // of a rename is still to come.
            if let names, tree.isListed(visit.id), let watchBefore, tree.watch(of: visit.id) == watchBefore {
                return ScanQueue.Listing(visit: visit, directory: directory, names: names)
            }
            let all = try NameList(of: directory)
            tree.markListed(visit.id)
            return ScanQueue.Listing(visit: visit, directory: directory, names: all)
        } catch .noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels {
            // The event of its removal or rename is still to come, and handling that event needs the node.
        } catch {
            scans.countUnreadable(path)
            tell(.unlistable(path, error))
        }
        return nil
    }

    private func watch(
        _ id: WatchTree.ID, _ directory: Directory, at path: RelativePath, below root: Directory
    ) {
        do {
            let queue = try queueInUse()
            let isRoot = id == WatchTree.root
            let watch = try kernel.watch(queue, directory, isRoot)
            if isRoot { queue.watchLink(rootPath) }
            if let other = tree.directory(of: watch), other != id {
                if isAlias(other, of: directory, below: root) {
                    polled[id] = .alias
                    return
                }
                // The other directory was renamed, and the event is lost or still to come.
                scans.push(other, .verify)
            }
            if let old = tree.bind(watch, to: id) { queue.unwatch(old) }
            polled[id] = sharedFileSystem(of: directory)
        } catch {
            let cause = WatchLimit.Cause(error, canOpen: (try? Wakeup()) != nil)
            polled[id] = .limit(cause)
            tell(cause, at: path)
        }
    }

    private func isWatchedAndShared(_ id: WatchTree.ID) -> Bool {
        guard case .sharedFileSystem = polled[id] else { return false }
        return tree.watch(of: id) != nil
    }

    private func sharedFileSystem(of directory: Directory) -> PollReason? {
        guard let type = kernel.fileSystem(directory.rawValue), type.isShared else { return nil }
        return .sharedFileSystem(type.name)
    }

    private func queueInUse() throws(Errno) -> InotifyQueue {
        if let inotify { return inotify }
        // A failed attempt is expensive for the kernel, and there may be thousands of directories.
        if let failure = queueFailure, Self.now() < failure.retry { throw failure.error }
        do {
            let queue = try kernel.openQueue(wakeup)
            (inotify, queueFailure) = (queue, nil)
            return queue
        } catch {
            queueFailure = (error, Self.now() + options.pollInterval / 2)
            throw error
        }
    }

    /// Whether another path leads to the same directory, such as a bind mount; one inotify instance watches a
    /// directory once.
    private func isAlias(_ other: WatchTree.ID, of directory: Directory, below root: Directory) -> Bool {
        guard let path = tree.path(other), let theirs = try? root.status(path.bytes),
            let mine = try? FileStatus(of: directory.rawValue)
        else { return false }
        return theirs.device == mine.device && theirs.inode == mine.inode
    }

    private func workOffSlice() {
        var listing = scans.current
        scans.current = nil
        if !workOff(&listing) {
            scans.current = listing
        } else if let listing, listing.visit.purpose == .full {
            removeStale(listing)
        }
    }

    /// Works off some names of a directory; names with deferred files only while there is room.
    ///
    /// - Returns: whether the listing is over.
    func workOff(_ rest: inout ScanQueue.Listing?) -> Bool {
        guard var listing = rest, let path = tree.path(listing.visit.id) else { return true }
        for _ in 0..<64 where listing.visit.purpose != .catchUp || hasRoom() {
            guard let entry = listing.names.next() else { break }
            visit(entry, of: listing, below: path)
        }
        rest = listing
        return listing.names.isAtEnd
    }

    /// Removes directories whose disappearance no event reported.
    private func removeStale(_ listing: ScanQueue.Listing) {
        let known = tree.children(of: listing.visit.id)
        if known.isEmpty { return }
        let names = Set(listing.names.rewound.lazy.filter { $0.isDirectory != false }.map { $0.name })
        for (name, id) in known where !names.contains(name) { removeDirectory(id) }
    }

    private func visit(_ entry: NameList.Element, of listing: ScanQueue.Listing, below path: RelativePath) {
        let child = path.appending(entry.name)
        let isDirectory: Bool
        if let known = entry.isDirectory {
            isDirectory = known
        } else {
            isDirectory = (try? listing.directory.status(entry.name))?.kind == .directory
        }
        if options.isIgnored(child, isDirectory) { return }
        if isDirectory {
            descend(to: entry.name, from: listing.visit)
        } else {
            look(at: entry.name, child, of: listing)
        }
    }

    private func descend(to name: [UInt8], from visit: ScanQueue.Visit) {
        guard let (id, isNew) = tree.add(name, to: visit.id) else { return }
        switch visit.purpose {
        case .full, .fresh, .verify: scans.push(id, visit.purpose)
        case .poll, .catchUp: if isNew { scans.push(id, .fresh) }
        }
    }

    private func look(at name: [UInt8], _ path: RelativePath, of listing: ScanQueue.Listing) {
        let isTellingAll = listing.visit.purpose == .fresh
        let isCatchingUp = listing.visit.purpose == .catchUp
        if settler.contains(path) { return scans.count(path) }
        // The directory is listed anyway, once there is room.
        if !isCatchingUp, deferred.willList(listing.visit.id), !options.isUrgent(path) { return scans.count(path) }
        var isDeferred = false
        let look = probe.look(at: name, in: listing.directory) { status in
            if !isTellingAll && options.isKnown(path, status) { return true }
            isDeferred = !isCatchingUp && mustDefer(path)
            return isDeferred
        }
        if look == .missing { return }
        scans.count(path, isKnown: look == nil && !isDeferred)
        if isDeferred { deferFile(name, in: listing.visit.id) }
        guard let look else { return }
        let (verdict, isSeen) = settler.found(path, look, now: Self.now(), wall: wallTimeNanoseconds())
        if isSeen { tell(.seen(path)) }
        // The name belonged to a file when it was deferred.
        if isCatchingUp, verdict == .directory { return descend(to: name, from: listing.visit) }
        apply(verdict, to: path)
    }
}
