public import UploadCore

/// Everything there is to say of one path at one moment: what its sidecar holds and what the control interface tells.
///
/// It is derived from ledger and machine each time and never read back as truth.
public struct FileReport: Equatable, Sendable {
    /// How many fragments there are and how many the server acknowledged.
    public struct Fragments: Equatable, Sendable {
        /// Number of fragments of the content.
        public var total: Int
        /// Number of fragments the server acknowledged.
        public var finished: Int

        /// Puts both counts together.
        public init(total: Int, finished: Int) {
            self.total = total
            self.finished = finished
        }
    }

    /// Where the file is, relative to the outbox.
    public var path: RelativePath
    /// MD5 of the bytes as dropped; nil before it is known.
    public var key: ContentKey?
    /// Where the path stands.
    public var state: FileState
    /// Picture, video or other, with MIME type; nil before it is known.
    public var type: MediaType?
    /// Size in bytes; nil where the file could not be looked at.
    public var size: UInt64?
    /// Size and length of a picture or video, as far as they are known.
    public var facts = MediaFacts()
    /// The upload's fragments; nil before the content is known.
    public var fragments: Fragments?
    /// Share of the bytes that the server acknowledged, 0…1; 1 only when done.
    public var progress: Double
    /// Bytes of a large file that are hashed already, while it is being hashed.
    public var hashed: UInt64?
    /// Protocol in use: `filesection`, `tus` or `s3`.
    public var remoteProtocol: String
    /// The server's names for the content.
    public var remote: RemoteObject
    /// Whether nothing was sent for this path.
    public var deduplicated: Bool
    /// How many attempts were begun.
    public var attempts: Int
    /// When the next attempt is due, while `waiting`.
    public var nextAttemptAt: WallTime?
    /// Why the path is where it is.
    public var error: FileError?
    /// When the path was first seen.
    public var acceptedAt: WallTime
    /// When its first fragment was sent.
    public var startedAt: WallTime?
    /// When it reached a final state.
    public var finishedAt: WallTime?
    /// When this report was made.
    public var updatedAt: WallTime
    /// The id of the source the file belongs to; told by the control interface only.
    public var source: String?
    /// The path it was dropped under, where `intake.after_upload` has moved it since; told by the control interface only.
    public var movedFrom: RelativePath?
    /// Bytes a second over the last seconds, while uploading; told by the control interface only.
    public var bytesPerSecond: UInt64?
    /// Bytes of fragments under way that the other end has acknowledged, while uploading: not part of `progress`, which
    /// is the server's word; told by the control interface only.
    public var bytesInFlight: UInt64?

    /// Share of the bytes that the other end has, with those of fragments under way; 0…1.
    public var shareOnItsWay: Double {
        guard let bytesInFlight, let size, size > 0 else { return progress }
        return min(progress + Double(bytesInFlight) / Double(size), 1)
    }

    /// A report of a path of which nothing is known but that it was seen.
    public init(
        path: RelativePath, state: FileState, remoteProtocol: String, acceptedAt: WallTime, updatedAt: WallTime
    ) {
        self.path = path
        self.state = state
        self.remoteProtocol = remoteProtocol
        self.acceptedAt = acceptedAt
        self.updatedAt = updatedAt
        progress = 0
        remote = RemoteObject(id: nil, url: nil)
        deduplicated = false
        attempts = 0
    }
}
