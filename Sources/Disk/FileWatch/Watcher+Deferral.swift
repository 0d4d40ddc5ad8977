import LinuxSystem
import SystemPackage
import UploadCore

// New files while the user of the watch has too much to do.
extension Watcher {
    /// Whether to defer a new file instead of reporting it.
    func mustDefer(_ path: RelativePath) -> Bool { !hasRoom() && !options.isUrgent(path) }

    /// Records a file of a directory to report later.
    func deferFile(_ name: [UInt8], in id: WatchTree.ID) {
        if deferred.isEmpty { tell(.deferring(true)) }
        // Not every change of a polled directory raises an event.
        deferred.add(polled[id] == nil ? name : nil, in: id)
    }

    /// Reports some deferred files, if there is room.
    ///
    /// - Returns: whether there was anything to do.
    func catchUp(below root: Directory) -> Bool {
        let begun = Self.now()
        guard !deferred.isEmpty, hasRoom(), var visit = deferred.next(now: begun) else { return false }
        var listing =
            visit.listing ?? open(ScanQueue.Visit(id: visit.id, purpose: .catchUp), only: visit.names, below: root)
        if listing == nil, isMissing(visit.id, below: root) {
            if deferred.postpone(visit, now: begun) { return true }
            // The directory was not watched, or its event was lost.
            removeDirectory(visit.id)
        }
        let told = batch.count
        let isOver = workOff(&listing)
        let now = Self.now()
        visit.listing = listing
        visit.spend(now - begun, hadNews: batch.count != told)
        guard isOver else {
            deferred.putBack(visit)
            return true
        }
        deferred.end(visit, now: now)
        if deferred.isEmpty { tell(.deferring(false)) }
        return true
    }

    /// Whether a known directory is not at its place. The event of its removal or rename is still to come.
    private func isMissing(_ id: WatchTree.ID, below root: Directory) -> Bool {
        guard let path = tree.path(id) else { return false }
        do {
            return try status(of: path, below: root).kind != .directory
        } catch {
            return error == .noSuchFileOrDirectory || error == .notDirectory
        }
    }

    /// When to catch up; nil if an event or the user of the watch makes room first.
    func catchUpDue(now: MonotonicTime) -> MonotonicTime? {
        if deferred.isEmpty { return nil }
        if hasRoom() { return deferred.due(now: now) }
        return options.load.wake(at: options.load.lowMark - settler.load) ? now : nil
    }
}
