public import Transport
public import UploadCore

/// A server that uploads go to, in one of the protocols.
///
/// A remote says what the server answered and, when a request failed, what kind of failure it was. It never retries,
/// waits or remembers: all of that is `UploadMachine`'s, because it must survive a restart. Its calls may run at the
/// same time in any number, and cancelling the task of one gives its request up.
///
/// The calls fit three protocols, which differ in what `traits` says:
///
/// - **fileSection** takes ids for up to 50 uploads in one request; fragments of 512 KiB go in any order and in
///   parallel; up to 50 uploads are asked about in one request.
/// - **tus 1.0** makes one upload a request; fragments go one after the other (`inOrder`), and after any interruption
///   the server's Upload-Offset is the truth (`asksBeforeResuming`): `resume` returns it, and `send` is told how many
///   bytes of its fragment the server has already. The last fragment's acknowledgement finishes the upload, so `finish`
///   asks with a HEAD whether the offset is the length.
/// - **S3 multipart** makes one upload a request; parts, of at least 5 MiB but for the last, go in any order. Each
///   part's ETag is the receipt that `send` returns; the ledger keeps it, and `finish` gets all of them to complete the
///   upload. Asking `finish` again after a lost reply must find the object that is there.
public protocol Remote: Sendable {
    /// What the protocol can do.
    var traits: RemoteTraits { get }

    /// The server and account that uploads and confirmations belong to.
    var scope: RemoteScope { get }

    /// Asks for room for uploads, at most `traits.batch` of them.
    ///
    /// Called again for an upload whose id was lost before it was stored: the server may then hold an id that nobody
    /// uses, which expires there.
    ///
    /// - Returns: one result for each upload, in order.
    func register(_ uploads: [UploadDescription]) async -> [Result<Registration, RemoteFailure>]

    /// Asks how far the server has got with an upload; called only where `traits.asksBeforeResuming`.
    ///
    /// - Throws: `.forgotten` when the server does not know the upload.
    func resume(_ upload: RemoteUpload) async throws(RemoteFailure) -> ResumePoint

    /// Sends one fragment. Sending one that the server has already is harmless.
    ///
    /// - Returns: what the server wants back at the end (S3: the ETag); nil where the protocol has no such thing.
    /// - Throws: `.source` when the bytes are not the ones that were hashed or cannot be read; the server then has no
    ///   complete fragment.
    func send(_ fragment: OutgoingFragment) async throws(RemoteFailure) -> String?

    /// Asks whether uploads, all of whose fragments are acknowledged, are finished; at most `traits.batch` of them.
    ///
    /// Asking again after a lost reply must give the same answer.
    ///
    /// - Returns: one result for each upload, in order.
    func finish(_ uploads: [RemoteUpload]) async -> [Result<FinishOutcome, RemoteFailure>]

    /// Deletes what the server has of unfinished uploads; ids it does not know are no error.
    func remove(_ ids: [String]) async throws(RemoteFailure)
}

/// What a server is told of a content before it is sent.
public struct UploadDescription: Equatable, Sendable {
    /// MD5 of the content.
    public var key: ContentKey
    /// How it is cut; its size is the content's.
    public var plan: FragmentPlan
    /// Where the file is, relative to the outbox.
    public var path: RelativePath
    /// Its type.
    public var type: MediaType
    /// Last change of the file, milliseconds since 1970; nil where not known.
    public var modified: Int64?
    /// Size and length of a picture or video, as far as they are known.
    public var facts = MediaFacts()
    /// Its SHA-256; nil where it was not computed. Where there is one, a server that says it has the content must have
    /// compared it.
    public var sha256: StrongDigest?

    /// Describes a content by what is always known.
    public init(key: ContentKey, plan: FragmentPlan, path: RelativePath, type: MediaType, modified: Int64?) {
        self.key = key
        self.plan = plan
        self.path = path
        self.type = type
        self.modified = modified
    }
}

/// What a server answers when it is asked for room.
public enum Registration: Equatable, Sendable {
    /// It gave an id, and says how far it has got if it knew the upload.
    case registered(id: String, ResumePoint)
    /// It has the content already: nothing is sent.
    case existing(RemoteObject)
}

/// An upload that the server knows by an id.
public struct RemoteUpload: Equatable, Sendable {
    /// MD5 of the content.
    public var key: ContentKey
    /// The server's id.
    public var id: String
    /// How the content is cut.
    public var plan: FragmentPlan
    /// Its type.
    public var type: MediaType
    /// What the server gave for each fragment (S3: ETags), by index.
    public var receipts: [Int: String]

    /// Names an upload.
    public init(key: ContentKey, id: String, plan: FragmentPlan, type: MediaType, receipts: [Int: String] = [:]) {
        self.key = key
        self.id = id
        self.plan = plan
        self.type = type
        self.receipts = receipts
    }
}

/// One fragment on its way.
public struct OutgoingFragment: Sendable {
    /// The upload it belongs to.
    public var upload: RemoteUpload
    /// Its index, from 0.
    public var index: Int
    /// Bytes of it that the server has already; 0 but for in-order protocols.
    public var skip: UInt32
    /// Its bytes, checked while they are read.
    public var body: any BodySource
    /// Told now and then how many bytes the other end of the connection has acknowledged, its own framing included:
    /// for display alone, since the server has not confirmed them. It must not block.
    public var onProgress: (@Sendable (UInt64) -> Void)?

    /// Puts a fragment together.
    public init(
        upload: RemoteUpload, index: Int, skip: UInt32, body: any BodySource,
        onProgress: (@Sendable (UInt64) -> Void)? = nil
    ) {
        self.upload = upload
        self.index = index
        self.skip = skip
        self.body = body
        self.onProgress = onProgress
    }
}

/// Where a remote finds the bearer token of the moment.
public protocol CredentialSource: Sendable {
    /// The token to send, or nil to send none. Called for each request, so it must be quick.
    func bearerToken() -> String?
}
