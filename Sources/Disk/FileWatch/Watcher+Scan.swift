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
        unanswered.keep { tree.contains($0) }
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
        // Without a watch until now, events are missing. With another watch, this is another directory, and the event
        // of a rename is still to come.
        let sufficient = names != nil && tree.isListed(visit.id) ? tree.watch(of: visit.id) : nil
        do {
            let opening = Opening(
                isRoot: visit.id == WatchTree.root, sufficient: sufficient, kernel: kernel,
                isPrivate: options.isPrivate,
                queue: visit.purpose != .poll || !isWatchedAndShared(visit.id) ? queueInUse : nil)
            guard
                let opened = try places.call(
                    path, "listing", { closer throws(Errno) in try opening.open(path, below: root, closer: closer) })
            else {
                removeDirectory(visit.id)
                return nil
            }
            if let watch = opened.watch { bind(watch, opened, to: visit.id, at: path, below: root) }
            if visit.purpose == .full { scans.countDirectory() }
            unanswered.remove(visit.id)
            let all = try opened.names?.get()
            if all != nil { tree.markListed(visit.id) }
            return ScanQueue.Listing(visit: visit, directory: opened.directory, names: all ?? names ?? NameList())
        } catch .noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels {
            // The event of its removal or rename is still to come, and handling that event needs the node.
        } catch .timedOut {
            giveUp(visit, at: path)
        } catch {
            scans.countUnreadable(path)
            tell(.unlistable(path, error))
        }
        return nil
    }

    /// Leaves a directory for later, because its file system does not answer.
    private func giveUp(_ visit: ScanQueue.Visit, at path: RelativePath) {
        scans.countUnreadable(path)
        unanswered.add(visit, now: Self.now())
    }

    private func bind(
        _ watch: Result<Int32, Errno>, _ opened: Opening.Opened, to id: WatchTree.ID, at path: RelativePath,
        below root: Directory
    ) {
        do {
            let watch = try watch.get()
            if id == WatchTree.root { inotify?.watchLink(rootPath) }
            if unanswered.hadEvent(of: watch) { scans.push(id, .verify) }
            if let other = tree.directory(of: watch), other != id {
                if isAlias(other, opened.status, below: root) {
                    polled[id] = .alias
                    return
                }
                // The other directory was renamed, and the event is lost or still to come.
                scans.push(other, .verify)
            }
            if let old = tree.bind(watch, to: id) { inotify?.unwatch(old) }
            polled[id] = opened.type.flatMap { $0.isShared ? .sharedFileSystem($0.name) : nil }
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

    private var queueInUse: Result<InotifyQueue, Errno> {
        if let inotify { return .success(inotify) }
        // A failed attempt is expensive for the kernel, and there may be thousands of directories.
        if let failure = queueFailure, Self.now() < failure.retry { return .failure(failure.error) }
        do {
            let queue = try kernel.openQueue(wakeup)
            (inotify, queueFailure) = (queue, nil)
            return .success(queue)
        } catch {
            queueFailure = (error, Self.now() + options.pollInterval / 2)
            return .failure(error)
        }
    }

    /// Whether another path leads to the same directory, such as a bind mount; one inotify instance watches a
    /// directory once.
    private func isAlias(_ other: WatchTree.ID, _ mine: FileStatus, below root: Directory) -> Bool {
        guard let path = tree.path(other), let theirs = try? status(of: path, below: root) else { return false }
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
        let place = places.place(of: path)
        for _ in 0..<64 where listing.visit.purpose != .catchUp || hasRoom() {
            guard let entry = listing.names.next() else { break }
            do {
                try visit(entry, of: listing, below: path, at: place)
            } catch {
                giveUp(listing.visit, at: path)
                rest = nil
                return true
            }
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

    /// - Throws: `.timedOut` if the file system does not answer.
    private func visit(
        _ entry: NameList.Element, of listing: ScanQueue.Listing, below path: RelativePath,
        at place: OutboxMounts.Place?
    ) throws(Errno) {
        let child = path.appending(entry.name)
        let isDirectory: Bool
        if let known = entry.isDirectory {
            isDirectory = known
        } else {
            let directory = listing.directory
            do {
                isDirectory =
                    try places.call(child, at: place, "finding") { _ throws(Errno) in
                        try directory.status(entry.name).kind
                    } == .directory
            } catch {
                if error == .timedOut { throw error }
                isDirectory = false
            }
        }
        if options.isIgnored(child, isDirectory) { return }
        if isDirectory {
            descend(to: entry.name, from: listing.visit)
        } else {
            try look(at: entry.name, child, of: listing, at: place)
        }
    }

    private func descend(to name: [UInt8], from visit: ScanQueue.Visit) {
        guard let (id, isNew) = tree.add(name, to: visit.id) else { return }
        switch visit.purpose {
        case .full, .fresh, .verify: scans.push(id, visit.purpose)
        case .poll, .catchUp: if isNew { scans.push(id, .fresh) }
        }
    }

    private func look(
        at name: [UInt8], _ path: RelativePath, of listing: ScanQueue.Listing, at place: OutboxMounts.Place?
    ) throws(Errno) {
        let isTellingAll = listing.visit.purpose == .fresh
        let isCatchingUp = listing.visit.purpose == .catchUp
        if settler.contains(path) { return scans.count(path) }
        // The directory is listed anyway, once there is room.
        if !isCatchingUp, deferred.willList(listing.visit.id), !options.isUrgent(path) { return scans.count(path) }
        var isDeferred = false
        var look: Look?
        let directory = listing.directory
        do {
            let status = try places.call(path, at: place, "finding") { _ throws(Errno) in
                try FileStatus(ofName: name, in: directory)
            }
            let mayPass = status.kind != .directory
            let isKnown = mayPass && !isTellingAll && options.isKnown(path, status)
            isDeferred = mayPass && !isKnown && !isCatchingUp && mustDefer(path)
            if !isKnown && !isDeferred {
                look = try places.call(path, at: place, "looking at") { [probe] _ in
                    probe.look(at: name, in: directory)
                }
            }
        } catch {
            if error == .timedOut { throw error }
            look = WriterProbe.judge(error)
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
