/// The visible state of an upload for one of its waiters.
public struct UploadView: Equatable, Sendable {
    /// The visible state of the path.
    public var state: FileState
    /// The fragments and those that the server acknowledged.
    public var fragments: FragmentProgress
    /// The number of bytes that the server acknowledged.
    public var acknowledgedBytes: UInt64
    /// The name of the upload on the server (`RemoteHandle.name`).
    public var remoteID: String?
    /// The number of attempts begun.
    public var attempts: Int
    /// When the next attempt is due, while `waiting`.
    public var nextAttemptAt: WallTime?
    /// The last error, while it matters.
    public var error: FileError?
    /// Whether the path joined an existing upload.
    public var joinedLater: Bool
}

extension UploadMachine {
    /// Returns the paths that wait for a content, in no particular order.
    public func waiters(of key: ContentKey) -> [RelativePath] {
        guard let waiters = uploads[key]?.waiters else { return [] }
        return Array(waiters.keys)
    }

    /// The number of small uploads that the machine holds and that wait for their registration or for a slot. An upload
    /// does not count if the user paused all its paths; a pause of everything changes nothing here.
    package var smallQueuedCount: Int { unregistered[isSmall: true] + upcoming[isSmall: true] }

    /// Whether everything is paused.
    public var isPaused: Bool { allPaused }

    /// The keys of all uploads, in no particular order.
    public var keys: some Collection<ContentKey> { uploads.keys }

    /// Returns the stored record of an upload, which requests to the server need; nil if there is no such upload.
    public func record(of key: ContentKey) -> UploadRecord? { uploads[key]?.record }

    /// Whether the machine holds an upload of this content.
    public func holds(_ key: ContentKey) -> Bool { uploads[key] != nil }

    /// Whether the server confirmed this content earlier, and is only asked whether it still holds it.
    public func isVerification(of key: ContentKey) -> Bool { uploads[key]?.isVerification == true }

    /// Whether a path itself is paused, regardless of a pause of everything; nil if the path waits for no upload.
    public func isPaused(_ path: RelativePath, of key: ContentKey) -> Bool? { uploads[key]?.waiters[path]?.paused }

    /// The largest request in bytes for a part of a fragment; nil for no limit. Short requests bound what an interruption
    /// costs with a server that drops incomplete ones.
    public var longestRequest: UInt64? { losesInterruptedBytes ? Upload.smallSize / 2 : nil }

    /// Returns the server's receipts for fragments, which the protocol returns at the end.
    public func receipts(of key: ContentKey) -> [Int: String] { uploads[key]?.receipts ?? [:] }

    /// Returns the visible state of a path's upload; nil if the path waits for none.
    public func view(of key: ContentKey, from path: RelativePath) -> UploadView? {
        guard let upload = uploads[key], let waiter = upload.waiters[path] else { return nil }
        return view(of: upload, for: waiter)
    }

    /// The visible state of every upload in the backlog, without fragments: it waits for its turn. A pause of
    /// everything, a sign-out or a server in trouble shows too. Nil if there is no backlog.
    public var backlogView: UploadView? {
        guard hasBacklog else { return nil }
        let record = UploadRecord(
            key: QueuePlace.head.key, seal: ContentSeal(size: 0, digest: 0), plan: traits.plan(for: 0), scope: scope,
            order: 0)
        let upload = Upload(record: record, phase: .unregistered, waiters: [:], lastProgress: handledAt)
        return view(of: upload, for: Upload.Waiter(paused: false, joinedLater: false))
    }

    private func view(of upload: Upload, for waiter: Upload.Waiter) -> UploadView {
        let bytes = upload.acknowledgedBytes
        var view = UploadView(
            state: .queued,
            fragments: FragmentProgress(upload.record.plan, acknowledged: upload.acknowledged, bytes: bytes),
            acknowledgedBytes: bytes, remoteID: upload.record.handle?.knownName,
            attempts: upload.record.attempts, nextAttemptAt: nil, error: nil, joinedLater: waiter.joinedLater)
        show(upload, in: &view)
        if waiter.paused || allPaused {
            view.state = .paused
            view.nextAttemptAt = nil
        } else if let signedOut {
            view.state = .signedOut
            view.nextAttemptAt = nil
            view.error = signedOut
        }
        return view
    }

    private func show(_ upload: Upload, in view: inout UploadView) {
        let next: RequestKind
        switch upload.phase {
        case .held:
            view.state = .paused
            return
        case .unregistered, .registering:
            next = .register
            view.state = .queued
        case .ready, .resuming, .sending:
            next = .send
            view.state = upload.holdsSlot || !upload.inFlight.isEmpty ? .uploading : .queued
        case .verifying, .asking:
            next = .finish
            view.state = .verifying
        case .waiting:
            next = .send
            view.state = .waiting
            view.error = upload.error
            view.nextAttemptAt = upload.nextAttemptAt
        }
        guard let gate = gates.closed(for: next) else { return }
        view.error = gate.error ?? view.error
        if gate.reason == .signedOut {
            view.state = .signedOut
            view.nextAttemptAt = nil
        } else if upload.phase != .asking && upload.phase != .registering && upload.inFlight.isEmpty {
            view.state = .waiting
            view.nextAttemptAt = later(gate.nextAttemptAt, view.nextAttemptAt)
        }
    }

    func later(_ one: WallTime?, _ other: WallTime?) -> WallTime? {
        guard let one, let other else { return one ?? other }
        return one.milliseconds > other.milliseconds ? one : other
    }
}

/// The visible state of a source's commit.
public struct CommitView: Equatable, Sendable {
    /// `verifying` while the commit is being sent or about to be; `waiting`; `signedOut`; `paused` along with
    /// everything else.
    public var state: FileState
    /// When the next attempt is due, while `waiting`.
    public var nextAttemptAt: WallTime?
    /// The last error, while it matters.
    public var error: FileError?
}

extension UploadMachine {
    /// Returns the visible state of a source's commit; nil if the source has no pending commit.
    public func commitView(of sourceID: String) -> CommitView? {
        guard let errand = commits[sourceID]?.errand else { return nil }
        if allPaused { return CommitView(state: .paused) }
        if let signedOut { return CommitView(state: .signedOut, error: signedOut) }
        var view = CommitView(state: .verifying)
        if let pause = errand.pause {
            view = CommitView(state: .waiting, nextAttemptAt: pause.nextAttemptAt, error: pause.error)
        }
        guard let gate = gates.closed(for: .commit) else { return view }
        view.error = gate.error ?? view.error
        if gate.reason == .signedOut {
            view.state = .signedOut
            view.nextAttemptAt = nil
        } else if !errand.isUnderWay {
            view.state = .waiting
            view.nextAttemptAt = later(gate.nextAttemptAt, view.nextAttemptAt)
        }
        return view
    }
}
