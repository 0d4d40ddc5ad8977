public import Digests
public import Transport
public import UploadCore

/// A server for uploads, in one of the protocols.
///
/// A remote reports the server's answer or, if a request failed, the kind of failure. It never retries, waits or
/// stores state: `UploadMachine` does all of this, because the state must survive a restart. Any number of calls may
/// run at the same time, and cancelling a call's task aborts its request.
///
/// The calls support three protocols with different `traits`:
///
/// - **fileSection** registers up to 50 uploads in one request. Fragments of 512 KiB are sent in any order and in
///   parallel. One request asks about up to 50 uploads.
/// - **tus 1.0** creates one upload a request. Fragments are sent one after the other (`inOrder`). A fragment is what one
///   request carries, up to 2 GiB. After any interruption the server's Upload-Offset is the truth
///   (`asksBeforeResuming`): `resume` returns the offset, and `send` receives the number of bytes of its fragment already
///   on the server. The acknowledgement of the last fragment finishes the upload. Its receipt says so, because some servers
///   know a finished upload no more; without the receipt `finish` asks for the offset.
/// - **S3** creates one upload a request. Parts of at least 5 MiB, except for the last, are sent in any order. `send`
///   returns each part's ETag as its receipt. The ledger stores the receipts, and `finish` gets them all to complete
///   the upload. A repeated `finish` after a lost reply must find the existing object. After a restart the server's list
///   of parts is the truth (`asksAfterRestart`). A content of one part is one PutObject: `register` makes up a handle
///   without an id, `send` is the PutObject, and `finish` needs no request if the reply proved what the server has.
public protocol Remote: Sendable {
    /// The protocol's capabilities.
    var traits: RemoteTraits { get }

    /// The server and account of uploads and confirmations.
    var scope: RemoteScope { get }

    /// The executor for tasks that call the remote: on it a call switches threads least. Such a task must not block.
    /// nil: no preference.
    var executor: (any TaskExecutor)? { get }

    /// Receives the digests of fragments while contents are hashed; nil if the protocol needs none.
    var partDigests: PartDigestStore? { get }

    /// Registers uploads, at most `traits.batch` of them.
    ///
    /// Called again for an upload whose id was lost before it was stored: the server may then hold an unused id,
    /// which expires on the server.
    ///
    /// - Returns: one result for each upload, in order.
    func register(_ uploads: [UploadDescription]) async -> [Result<Registration, RemoteFailure>]

    /// Returns the server's progress on an upload; called only if `traits.asksBeforeResuming` or
    /// `traits.asksAfterRestart`.
    ///
    /// - Throws: `.forgotten` if the server does not know the upload.
    func resume(_ upload: RemoteUpload) async throws(RemoteFailure) -> ResumePoint

    /// Sends one fragment. Idempotent: the server may have the fragment already.
    ///
    /// - Returns: a receipt that the server requires in `finish` (S3: the ETag); nil if the protocol has no receipts.
    /// - Throws: `.source` if the bytes changed since hashing or cannot be read; the server then has no complete
    ///   fragment. `.outOfStep` if an in-order server's offset is not the fragment's start plus `skip`.
    func send(_ fragment: OutgoingFragment) async throws(RemoteFailure) -> String?

    /// Asks whether fully acknowledged uploads are finished; at most `traits.batch` of them.
    ///
    /// Idempotent: asking again after a lost reply must give the same answer. An in-order server that lacks bytes is
    /// `.outOfStep`.
    ///
    /// - Returns: one result for each upload, in order.
    func finish(_ uploads: [RemoteUpload]) async -> [Result<FinishOutcome, RemoteFailure>]

    /// Asks whether the server still holds contents that it confirmed earlier; at most `traits.batch` of them. Called
    /// before files are moved or deleted.
    ///
    /// - Parameter uploads: contents that this run need not have sent. The handle's id is the id of the `RemoteObject`
    ///   that confirmed the content; there are no receipts.
    /// - Returns: one result for each content, in order; `.forgotten` if the server lacks it.
    func prove(_ uploads: [RemoteUpload]) async -> [Result<FinishOutcome, RemoteFailure>]

    /// Deletes uploads on the server; ignores unknown ones.
    func remove(_ handles: [RemoteHandle]) async throws(RemoteFailure)
}

extension Remote {
    /// No preference.
    public var executor: (any TaskExecutor)? { nil }

    /// None.
    public var partDigests: PartDigestStore? { nil }

    /// Asks as `finish` does.
    public func prove(_ uploads: [RemoteUpload]) async -> [Result<FinishOutcome, RemoteFailure>] {
        await finish(uploads)
    }
}

extension Array {
    /// Asks about the elements one after the other.
    func oneByOne<Answer>(
        _ ask: (Element) async throws(RemoteFailure) -> Answer
    ) async -> [Result<Answer, RemoteFailure>] {
        var results: [Result<Answer, RemoteFailure>] = []
        for element in self {
            do throws(RemoteFailure) {
                results.append(.success(try await ask(element)))
            } catch {
                results.append(.failure(error))
            }
        }
        return results
    }
}

/// The description of a content for registration.
public struct UploadDescription: Equatable, Sendable {
    /// MD5 of the content.
    var key: ContentKey
    /// How the content is split into fragments; the plan's size is the content's.
    var plan: FragmentPlan
    /// The file's path relative to the outbox.
    var path: RelativePath
    /// The content's type.
    var type: MediaType
    /// Last change of the file, milliseconds since 1970; nil if unknown.
    var modified: Int64?
    /// Dimensions and duration of a picture or video, as far as known.
    public var facts = MediaFacts()
    /// The content's SHA-256; nil if it was not computed. With a SHA-256, a server that reports the content as existing
    /// compared the digest, or the remote says that it did not.
    public var sha256: StrongDigest?
    /// Whether the server assembled other bytes than were sent: a content that it claims to have may be these.
    public var isDoubted = false

    /// Creates a description from the facts that are always known.
    public init(key: ContentKey, plan: FragmentPlan, path: RelativePath, type: MediaType, modified: Int64?) {
        self.key = key
        self.plan = plan
        self.path = path
        self.type = type
        self.modified = modified
    }
}

/// The server's answer to a registration.
public enum Registration: Equatable, Sendable {
    /// The server knows the upload by this handle from now on. The resume point gives its progress if it knew the upload
    /// before.
    case registered(RemoteHandle, ResumePoint)
    /// The server has the content already, so no fragment is sent. `byMD5Alone`: it compared no SHA-256, although the
    /// description may have one.
    case existing(RemoteObject, byMD5Alone: Bool = false)
}

/// An upload that the server knows.
public struct RemoteUpload: Equatable, Sendable {
    /// MD5 of the content.
    public var key: ContentKey
    /// What the server knows the upload by.
    var handle: RemoteHandle
    /// How the content is split into fragments.
    public var plan: FragmentPlan
    /// The content's type.
    var type: MediaType
    /// The server's receipt for each fragment (S3: ETags), by index.
    var receipts: [Int: String]
    /// What the registration described, for a protocol that creates the object with the last request (S3); nil if
    /// unknown.
    public var details: UploadDescription?

    /// Creates a reference to an upload.
    public init(
        key: ContentKey, handle: RemoteHandle, plan: FragmentPlan, type: MediaType, receipts: [Int: String] = [:]
    ) {
        self.key = key
        self.handle = handle
        self.plan = plan
        self.type = type
        self.receipts = receipts
    }
}

/// One fragment to send.
public struct OutgoingFragment: Sendable {
    /// The fragment's upload.
    var upload: RemoteUpload
    /// The fragment's index, from 0.
    var index: Int
    /// Number of the fragment's bytes already on the server; 0 except for in-order protocols.
    var skip: UInt32
    /// The fragment's bytes, checked while they are read.
    var body: FragmentReader
    /// The largest request in bytes for a part of the fragment (in-order protocols); nil for no limit.
    public var longestRequest: UInt64?
    /// Receives about once a second the number of bytes acknowledged by the other end of the connection, framing
    /// included. In-order protocols report bytes of the fragment without framing; these count as progress until the
    /// server states an offset. Must not block.
    var onProgress: (@Sendable (UInt64) -> Void)?

    /// Creates a fragment.
    public init(
        upload: RemoteUpload, index: Int, skip: UInt32, body: FragmentReader,
        onProgress: (@Sendable (UInt64) -> Void)? = nil
    ) {
        self.upload = upload
        self.index = index
        self.skip = skip
        self.body = body
        self.onProgress = onProgress
    }
}

/// A server that stores a profile picture for each account. Not every protocol supports pictures (tus does not), so this one
/// is separate from `Remote`.
public protocol PortraitRemote: Sendable {
    /// Replaces the account's profile picture.
    ///
    /// Failures are judged like those of a registration: the request contains no id, so 404, 405 and 410 mean a wrong
    /// URL. Cancelling the task aborts the request, but the server may already have accepted the picture.
    ///
    /// - Parameter picture: a JPEG.
    /// - Returns: the picture's URL from the server: http or https, at most 2048 bytes.
    /// - Throws: the kind of failure; `.source` if the picture could not be read.
    func replacePortrait(_ picture: any BodySource) async throws(RemoteFailure) -> String
}

/// A server that makes posts of uploaded files. Not every protocol supports posts (tus does not), so this one is separate
/// from `Remote`.
public protocol SourceRemote: Sendable {
    /// Commits one revision of a source as a post, once the server has all its files.
    ///
    /// Idempotent: the same commit always produces the same request, and a server accepts each source and revision
    /// once, even if earlier replies were lost. So the commit may be sent again after any failure. The request
    /// contains ids from the server, so 404 and 410 mean that the server forgot an id. Cancelling the task aborts the
    /// request, but the server may already have accepted the commit.
    ///
    /// - Returns: `done` with the post's URL if the server gives one: http or https, at most 2048 bytes; `taken` if the
    ///   server has other files under this revision.
    /// - Throws: the kind of failure; never `.source`.
    func commit(_ commit: SourceCommit) async throws(RemoteFailure) -> CommitOutcome
}
