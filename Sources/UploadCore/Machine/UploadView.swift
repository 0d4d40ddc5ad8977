/// What is to be seen of an upload from one of the paths that wait for it.
public struct UploadView: Equatable, Sendable {
    /// The state the path is shown in.
    public var state: FileState
    /// Number of fragments.
    public var fragmentsTotal: Int
    /// Number of fragments the server acknowledged.
    public var fragmentsFinished: Int
    /// Bytes the server acknowledged.
    public var acknowledgedBytes: UInt64
    /// The server's id for the upload.
    public var remoteID: String?
    /// Attempts begun so far.
    public var attempts: Int
    /// When the next attempt is due, while `waiting`.
    public var nextAttemptAt: WallTime?
    /// What went wrong last, while it matters.
    public var error: FileError?
    /// Whether the content was under way already when this path came.
    public var joinedLater: Bool
}

extension UploadMachine {
    /// The paths that wait for a content, in no particular order.
    public func waiters(of key: ContentKey) -> some Collection<RelativePath> {
        uploads[key].map { Array($0.waiters.keys) } ?? []
    }

    /// Whether everything is paused.
    public var isPaused: Bool { allPaused }

    /// The keys of all uploads, in no particular order.
    public var keys: some Collection<ContentKey> { uploads.keys }

    /// What is needed to talk to the server about an upload; nil when there is none.
    public func record(of key: ContentKey) -> UploadRecord? { uploads[key]?.record }

    /// Whether a path's own wait for an upload is paused, whatever holds for all of them; nil where it waits for none.
    public func isPaused(_ path: RelativePath, of key: ContentKey) -> Bool? { uploads[key]?.waiters[path]?.paused }

    /// What the server gave for each fragment and wants back at the end.
    public func receipts(of key: ContentKey) -> [Int: String] { uploads[key]?.receipts ?? [:] }

    /// What is to be seen of a path's upload; nil when it does not wait for one.
    public func view(of key: ContentKey, from path: RelativePath) -> UploadView? {
        guard let upload = uploads[key], let waiter = upload.waiters[path] else { return nil }
        var view = UploadView(
            state: .queued, fragmentsTotal: upload.record.plan.count, fragmentsFinished: upload.acknowledged.count,
            acknowledgedBytes: upload.acknowledgedBytes, remoteID: upload.record.remoteID,
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
