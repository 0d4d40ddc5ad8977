// Holds a window of the queue. The uploads behind it, the backlog, are only in the ledger until their turn comes or
// until an event concerns them.
extension UploadMachine {
    /// The pause after a failed read of the ledger.
    private static let retryPause = Duration.seconds(1)

    /// Declares everything in the ledger's queue to be the backlog. Called at start, before the first event.
    ///
    /// - Parameters:
    ///   - first: the first place of the queue.
    ///   - last: the last place of the queue.
    public mutating func restoreBacklog(from first: QueuePlace, to last: QueuePlace) {
        backlog = .head
        firstOrder = min(firstOrder, first.order)
        lastOrder = max(lastOrder, last.order)
    }

    /// Whether uploads exist that only the ledger holds.
    public var hasBacklog: Bool { backlog != nil }

    /// Reads the uploads that an event concerns from the ledger.
    ///
    /// - Returns: false if that failed and the machine must not take the event. A path that wants to join is then hashed
    ///   again. All other changes are in the records of paths, so the machine learns of them when it reads the upload.
    mutating func bringIn(for event: MachineEvent, now: Now) -> Bool {
        guard backlog != nil else { return true }
        do throws(UnreadableUpload) {
            try bringIn(event, now: now)
            return true
        } catch {
            switch event {
            case .join(let path, let content, _), .verify(let path, let content, _, _):
                actions.append(.takeAgain(path, content.key))
            default: break
            }
            return false
        }
    }

    private mutating func bringIn(_ event: MachineEvent, now: Now) throws(UnreadableUpload) {
        for key in event.keys where uploads[key] == nil {
            guard var upload = try stored.upload(of: key) else { continue }
            justRead.insert(key)
            // The ledger may no longer count a path that is about to leave.
            if case .leave(let path, _) = event, !upload.waiters.contains(where: { $0.path == path }) {
                upload.waiters.append(RestoredWaiter(path: path, paused: false, joinedLater: true))
            }
            bringIn(upload, now: now)
        }
    }

    /// Whether a path that leaves an upload waits for it again because of a later event of this `handle`. Example: a file
    /// is renamed onto another file of the same content.
    func waitsAgain(_ path: RelativePath, for key: ContentKey) -> Bool {
        guard justRead.contains(key) else { return false }
        return (try? stored.upload(of: key))?.waiters.contains { $0.path == path } ?? false
    }

    private mutating func bringIn(_ upload: StoredUpload, now: Now) {
        let key = upload.record.key
        guard uploads[key] == nil, !forgotten.contains(key), upload.record.scope == scope else { return }
        if upload.waiters.isEmpty {
            if let handle = upload.record.handle { remove(handle) }
            return actions.append(.write(.forgetUpload(key)))
        }
        restore(
            upload.record, acknowledged: upload.acknowledged, receipts: upload.receipts, waiters: upload.waiters,
            now: now)
        actions.append(.broughtIn(key, upload.waiters.map(\.path)))
    }

    /// Reads the next uploads from the ledger once less than half of the window waits for its turn.
    mutating func refill(now: Now) {
        guard !stopped, (backlogRetry ?? now.monotonic) <= now.monotonic else { return }
        backlogRetry = nil
        if unregistered.total <= window { shrinkAbove = window + slack }
        while let place = backlog, unregistered.total <= window / 2 {
            guard let page = stored.uploads(after: place, atMost: max(1, window / 2)) else {
                backlogRetry = now.monotonic + Self.retryPause
                return
            }
            backlog = page.next
            for upload in page.uploads { bringIn(upload, now: now) }
        }
    }

    /// Leaves the last uploads of the queue to the ledger if the machine holds many more than its window.
    mutating func shrink() {
        guard unregistered.total > shrinkAbove else { return }
        // Uploads of posts stay, so the number may remain above the window.
        defer { shrinkAbove = max(window, unregistered.total) + slack }
        let waiting = uploads.values.compactMap { mayLeave($0) ? $0.record.place : nil }.sorted()
        guard waiting.count > window else { return }
        let last = waiting[window - 1]
        backlog = backlog.map { min($0, last) } ?? last
        for place in waiting[window...] {
            guard let upload = uploads.removeValue(forKey: place.key) else { continue }
            unregistered[isSmall: upload.isSmall] -= 1
            actions.append(.leftToLedger(place.key, upload.waiters.keys.sorted()))
        }
        // The queues must not grow with the number of uploads that ever passed through them.
        unregisteredSmall = PriorityQueue(unregisteredSmall.filter { uploads[$0.key] != nil })
        unregisteredLarge = PriorityQueue(unregisteredLarge.filter { uploads[$0.key] != nil })
        timeouts = PriorityQueue(timeouts.filter { uploads[$0.key] != nil })
    }

    /// How far the machine exceeds its window before it shrinks. Most events then need not look for uploads to leave.
    var slack: Int { max(1, window / 4) }

    /// Whether the ledger alone may hold an upload: its record is stored, and nothing has begun.
    private func mayLeave(_ upload: Upload) -> Bool {
        upload.phase == .unregistered && upload.record.attempts == 0 && !upload.isVerification
            && groups.name(of: upload.key) == nil
    }
}
