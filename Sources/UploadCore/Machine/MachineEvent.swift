/// Names one request of the machine; never used twice within a run.
public typealias RequestID = UInt64

/// What a path brings along when it asks for its content to be uploaded.
public struct DropContent: Equatable, Sendable {
    /// The content's key.
    public var key: ContentKey
    /// Size and digest; they must agree with the upload's before the path joins.
    public var seal: ContentSeal
    /// What the server compares before it calls the content existing; nil where it was not computed.
    public var sha256: StrongDigest?

    /// Puts a content together.
    public init(key: ContentKey, seal: ContentSeal, sha256: StrongDigest? = nil) {
        self.key = key
        self.seal = seal
        self.sha256 = sha256
    }
}

/// How far the server says it has got with an upload.
public enum ResumePoint: Equatable, Sendable {
    /// As the ledger says: the protocol has no question for it, or the answer agrees (fileSection, S3).
    case asRecorded
    /// The server has exactly so many bytes from the start; its word overrides the ledger (tus, Upload-Offset).
    case offset(UInt64)
}

/// What the server said about a finished upload.
public enum FinishOutcome: Equatable, Sendable {
    /// The content is there, whole and verified.
    case confirmed(RemoteObject)
    /// Still being assembled: ask again.
    case assembling
    /// It could not be assembled: all fragments must be sent again.
    case failed(FileError)
}

/// What the machine is told.
public enum MachineEvent: Equatable, Sendable {
    /// A path holds this content and wants it uploaded.
    case join(RelativePath, DropContent, paused: Bool)
    /// A path holds a content that the server confirmed earlier, and something is about to be done to the file that
    /// can't be undone: the server is asked again, and where it has lost the content it is sent anew.
    case verify(RelativePath, DropContent, RemoteObject, paused: Bool)
    /// A path no longer wants its content uploaded: removed, superseded, cancelled.
    case leave(RelativePath, ContentKey)
    /// A path was renamed.
    case rename(RelativePath, to: RelativePath, ContentKey)
    /// The user pauses or resumes one path.
    case setPaused(RelativePath, ContentKey, Bool)
    /// The user pauses or resumes everything, new paths included.
    case setAllPaused(Bool)
    /// The user wants this content next.
    case first(ContentKey)
    /// The user wants a waiting upload tried now.
    case retry(ContentKey)

    /// A registration request ended for one of its uploads.
    case registered(RequestID, ContentKey, remoteID: String, ResumePoint)
    /// The server said, when asked to register, that it has the content already.
    case existing(RequestID, ContentKey, RemoteObject)
    /// The server said how far it has got.
    case resumed(RequestID, ContentKey, ResumePoint)
    /// The server acknowledged a fragment. `receipt` is what the protocol wants back at the end (S3: the ETag).
    case acknowledged(RequestID, ContentKey, fragment: Int, receipt: String?, took: Duration)
    /// The server answered the question whether an upload is finished.
    case finished(RequestID, ContentKey, FinishOutcome)
    /// The server deleted uploads.
    case removed(RequestID)
    /// A request failed, for one of the uploads it was about.
    case failed(RequestID, ContentKey, RemoteFailure)
    /// A request to delete uploads failed.
    case removalFailed(RequestID, RemoteFailure)

    /// These uploads belong together, as the files of the source with this id: they are registered in one request and asked
    /// about in one. Replaces what was said before of that source; an empty list takes it back.
    case gather(String, [ContentKey])
    /// Tell the server of a source's revision; replaces an earlier commit of the source. `forgotten` says how often in a row
    /// the server did not know the files' ids: above 0 it waits before, longer each time.
    case commit(SourceCommit, forgotten: Int)
    /// The commit of the source with this id is not wanted any more.
    case withdrawCommit(String)
    /// The user wants a source's commit tried now.
    case retryCommit(String)
    /// The server confirmed a commit; with the post's address where it gives one.
    case committed(RequestID, url: String?)
    /// A commit failed.
    case commitFailed(RequestID, RemoteFailure)
    /// What the server has confirmed under these ids is not wanted any more: it is to be deleted there.
    case discard([String])
    /// The user signed out, for the reason shown, or (nil) signed in again: while signed out nothing is sent, not even to
    /// probe.
    case setSignedOut(FileError?)

    /// A deadline passed.
    case tick
    /// New credentials are at hand.
    case credentialsChanged
    /// A network came, went or changed.
    case networkChanged
    /// Limits were changed by a reload.
    case setLimits(UploadLimits)
    /// No further request may begin.
    case stop
}

/// How a path's upload ended.
public enum DropOutcome: Equatable, Sendable {
    /// The server confirmed the content; `deduplicated` where nothing was sent for this path.
    case done(RemoteObject, deduplicated: Bool)
    /// The server refused for good, or the file can't be read.
    case failed(FileError)
}

/// What the machine wants done. Writes come first: they must be durable before anything after them begins.
public enum MachineAction: Equatable, Sendable {
    /// Change the ledger.
    case write(LedgerWrite)
    /// Ask the server for ids.
    case register(RequestID, [ContentKey])
    /// Ask the server how far it has got.
    case resume(RequestID, ContentKey)
    /// Send one fragment. The server has `skip` bytes of it already (in-order protocols only).
    case send(RequestID, ContentKey, fragment: Int, skip: UInt32)
    /// Ask the server whether uploads are finished.
    case finish(RequestID, [ContentKey])
    /// Delete uploads on the server, by id.
    case remove(RequestID, [String])
    /// Tell the server of a source's revision.
    case commit(RequestID, SourceCommit)
    /// The commit of a source ended.
    case commitEnded(sourceID: String, revision: Int, CommitOutcome)
    /// What is to be seen of a source's commit changed.
    case commitChanged(String)
    /// Give up requests that are under way.
    case cancel([RequestID])
    /// A path's upload ended, after so many attempts.
    case ended(RelativePath, ContentKey, DropOutcome, attempts: Int)
    /// A path's bytes are no longer those of its key: it left the upload and must be hashed again.
    case takeAgain(RelativePath, ContentKey)
    /// What is to be seen of an upload changed.
    case changed(ContentKey)
    /// What is to be seen of every upload changed (the server went away or came back, all was paused).
    case allChanged
    /// The server became unreachable, refused the credentials, or (nil) is back: said once, not per fragment.
    case serverTrouble(FileError?)
}
