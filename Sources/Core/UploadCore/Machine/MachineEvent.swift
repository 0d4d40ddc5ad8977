/// Identifies one request of the machine. Unique within a run.
public typealias RequestID = UInt64

/// The content of a path that wants to upload it.
public struct DropContent: Equatable, Sendable {
    /// The content's key.
    public var key: ContentKey
    /// Size and digest. They must equal the upload's before the path may join.
    public var seal: ContentSeal
    /// The digest that the server compares before it reports the content as existing; nil if not computed.
    public var sha256: StrongDigest?
    /// What a recipe made of the file, if its type has a recipe. The content is then the product's.
    public var product: Product?

    /// Creates a description of a content.
    public init(key: ContentKey, seal: ContentSeal, sha256: StrongDigest? = nil, product: Product? = nil) {
        self.key = key
        self.seal = seal
        self.sha256 = sha256
        self.product = product
    }
}

/// The server's statement of how much of an upload it has.
public enum ResumePoint: Equatable, Sendable {
    /// As in the ledger.
    case asRecorded
    /// No request was sent, so this says nothing about the server. After a registration: the request that sends the content
    /// creates the upload (tus, S3). Otherwise as in the ledger, and an upload without a name on the server is registered again.
    case unasked
    /// The server has exactly this many bytes from the start. This overrides the ledger (tus, Upload-Offset).
    case offset(UInt64)
    /// The server has exactly these fragments, with these receipts. This overrides the ledger (S3, ListParts).
    case fragments([Int: String])
}

/// The server's answer about a finished upload.
public enum FinishOutcome: Equatable, Sendable {
    /// The server has the content, whole and verified.
    case confirmed(RemoteObject)
    /// The server is still assembling the content: ask again.
    case assembling
    /// The server failed to assemble the content: send all fragments again.
    case failed(FileError)
}

/// Input of the machine.
public enum MachineEvent: Equatable, Sendable {
    /// A path has this content and wants it uploaded.
    case join(RelativePath, DropContent, paused: Bool)
    /// A path has a content that the server confirmed earlier, and its file is about to be changed irreversibly. The
    /// machine asks the server again; if the server lost the content, the machine sends it anew.
    indirect case verify(RelativePath, DropContent, RemoteObject, paused: Bool)
    /// A path no longer wants its content uploaded: its file was removed, superseded or cancelled.
    case leave(RelativePath, ContentKey)
    /// A path was renamed.
    case rename(RelativePath, to: RelativePath, ContentKey)
    /// The user pauses or resumes one path.
    case setPaused(RelativePath, ContentKey, Bool)
    /// The user pauses or resumes everything, new paths included.
    case setAllPaused(Bool)
    /// The user moves this content to the head of the queue.
    case first(ContentKey)
    /// The user retries a waiting upload now.
    case retry(ContentKey)

    /// A registration request ended for one of its uploads.
    case registered(RequestID, ContentKey, RemoteHandle, ResumePoint)
    /// The server answered a registration: it has the content already. `byMD5Alone`: it compared no SHA-256, although
    /// the upload may have one.
    case existing(RequestID, ContentKey, RemoteObject, byMD5Alone: Bool = false)
    /// The server said how much of the upload it has.
    case resumed(RequestID, ContentKey, ResumePoint)
    /// So many bytes of a fragment in flight have reached the other end of the connection, those that the server had
    /// before included (in-order protocols). They count until the server states an offset.
    case passed(RequestID, ContentKey, bytes: UInt64)
    /// The server acknowledged a fragment. `receipt` is what the protocol must return at the end (S3: the ETag).
    case acknowledged(RequestID, ContentKey, fragment: Int, receipt: String?, took: Duration)
    /// The server answered whether an upload is finished.
    case finished(RequestID, ContentKey, FinishOutcome)
    /// The server deleted uploads.
    case removed(RequestID)
    /// A request failed for one of its uploads.
    indirect case failed(RequestID, ContentKey, RemoteFailure)
    /// A request to delete uploads failed.
    case removalFailed(RequestID, RemoteFailure)

    /// These uploads are the files of the source with this id. The machine registers them in one request and asks about
    /// them in one. Replaces the earlier list of the source; an empty list removes the group.
    case gather(String, [ContentKey])
    /// Commit a source's revision; replaces an earlier commit of the source. `forgotten` is how often in a row the
    /// server did not know the files' ids. Above 0 the machine waits before the commit, longer each time.
    indirect case commit(SourceCommit, forgotten: Int)
    /// The commit of the source with this id is no longer wanted.
    case withdrawCommit(String)
    /// The user retries a source's commit now.
    case retryCommit(String)
    /// The server answered a commit.
    indirect case committed(RequestID, CommitOutcome)
    /// A commit failed.
    case commitFailed(RequestID, RemoteFailure)
    /// Delete these confirmed contents on the server: they are no longer wanted.
    case discard([RemoteHandle])
    /// The user signed out, for the reason given, or signed in again (nil). While signed out, the machine sends
    /// nothing, not even a probe.
    case setSignedOut(FileError?)

    /// A deadline passed.
    case tick
    /// New credentials are available.
    case credentialsChanged
    /// A network came, went or changed.
    case networkChanged
    /// A reload changed the limits.
    indirect case setLimits(UploadLimits)
    /// Begin no further request.
    case stop
}

extension MachineEvent {
    /// The contents whose uploads change on a wish of the agent. The server's answers only concern uploads that the
    /// machine holds.
    var keys: [ContentKey] {
        switch self {
        case .join(_, let content, _), .verify(_, let content, _, _): [content.key]
        case .leave(_, let key), .rename(_, _, let key), .setPaused(_, let key, _), .first(let key), .retry(let key):
            [key]
        case .gather(_, let keys): keys
        case .registered, .existing, .resumed, .passed, .acknowledged, .finished, .removed, .failed, .removalFailed,
            .setAllPaused, .commit, .withdrawCommit, .retryCommit, .committed, .commitFailed, .discard, .setSignedOut,
            .tick, .credentialsChanged, .networkChanged, .setLimits, .stop:
            []
        }
    }
}

/// The outcome of a path's upload.
public enum DropOutcome: Equatable, Sendable {
    /// The server confirmed the content. `deduplicated`: nothing was sent for this path.
    case done(RemoteObject, deduplicated: Bool)
    /// The server refused the content for good, or the file can't be read.
    case failed(FileError)
}

/// Output of the machine. Writes come first and must be durable before any later action begins.
public enum MachineAction: Equatable, Sendable {
    /// Change the ledger.
    case write(LedgerWrite)
    /// Ask the server for ids.
    case register(RequestID, [ContentKey])
    /// Ask the server how much of an upload it has.
    case resume(RequestID, ContentKey)
    /// Send one fragment. The server already has its first `skip` bytes (in-order protocols only).
    case send(RequestID, ContentKey, fragment: Int, skip: UInt32)
    /// Ask the server whether uploads are finished.
    case finish(RequestID, [ContentKey])
    /// Delete uploads on the server.
    case remove(RequestID, [RemoteHandle])
    /// Commit a source's revision.
    indirect case commit(RequestID, SourceCommit)
    /// A source's commit ended.
    case commitEnded(sourceID: String, revision: Int, CommitOutcome)
    /// The visible state of a source's commit changed.
    case commitChanged(String)
    /// Cancel requests in progress.
    case cancel([RequestID])
    /// A path's upload ended after this many attempts.
    case ended(RelativePath, ContentKey, DropOutcome, attempts: Int)
    /// A path's bytes no longer match its key. The path left the upload; hash it again.
    case takeAgain(RelativePath, ContentKey)
    /// The machine read an upload from the ledger, with the paths that wait for it. From now on it holds the upload.
    case broughtIn(ContentKey, [RelativePath])
    /// The machine no longer holds an upload that waits for its turn, nor its paths. Only the ledger does.
    case leftToLedger(ContentKey, [RelativePath])
    /// The visible state of an upload changed.
    case changed(ContentKey)
    /// The visible state of every upload changed: the server went away or came back, or everything was paused.
    case allChanged
    /// The server became unreachable, refused the credentials, or works again (nil). Reported once, not per fragment.
    case serverTrouble(FileError?)
    /// The server, or a proxy, refuses a file while it takes others, or refuses none any more (nil).
    case refusal(FileError?)
}
