public import UploadCore

/// The full report of one path at one moment: the content of its sidecar and of the control interface's answer.
///
/// Derived from ledger and machine each time, and never read back as truth.
public struct FileReport: Equatable, Sendable {
    /// How many fragments exist, and how many the server acknowledged.
    public struct Fragments: Equatable, Sendable {
        /// Number of fragments of the content.
        public var total: Int
        /// Number of fragments the server acknowledged.
        public var finished: Int

        /// Creates fragment counts.
        public init(total: Int, finished: Int) {
            self.total = total
            self.finished = finished
        }
    }

    /// The path of the file, relative to the outbox.
    public var path: RelativePath
    /// MD5 of the dropped bytes; `nil` until the file is hashed.
    public var key: ContentKey?
    /// The state of the path.
    public var state: FileState
    /// Picture, video or other, with MIME type; `nil` while unknown.
    public var type: MediaType?
    /// Size in bytes; `nil` if the file could not be examined.
    public var size: UInt64?
    /// Dimensions and duration of a picture or video, as far as they are known.
    public var facts = MediaFacts()
    /// The upload's fragments; `nil` while the content is unknown.
    public var fragments: Fragments?
    /// Share of the bytes that the server acknowledged, 0…1; 1 only when done.
    public var progress: Double
    /// Bytes hashed so far, while a large file is being hashed.
    public var hashed: UInt64?
    /// Protocol in use: `filesection`, `tus` or `s3`.
    public var remoteProtocol: String
    /// The server's id and URL of the content.
    public var remote: RemoteObject
    /// Whether nothing was sent for this path.
    public var deduplicated: Bool
    /// Number of attempts begun.
    public var attempts: Int
    /// When the next attempt is due, while `waiting`.
    public var nextAttemptAt: WallTime?
    /// The reason for the state.
    public var error: FileError?
    /// When the path was first seen.
    public var acceptedAt: WallTime
    /// When the first fragment was sent.
    public var startedAt: WallTime?
    /// When the path reached a final state.
    public var finishedAt: WallTime?
    /// When this report was made.
    public var updatedAt: WallTime
    /// The id of the file's source. Control interface only.
    public var source: String?
    /// The path under which the file was dropped, if `intake.after_upload` moved it. Control interface only.
    public var movedFrom: RelativePath?
    /// Bytes per second over the last seconds, while uploading. Control interface only.
    public var bytesPerSecond: UInt64?
    /// Bytes of fragments in flight that the peer acknowledged, while uploading. Not part of `progress`, which counts
    /// what the server acknowledged. Control interface only.
    public var bytesInFlight: UInt64?

    /// Share of the bytes that the peer has, including fragments in flight; 0…1.
    public var shareOnItsWay: Double {
        guard let bytesInFlight, let size, size > 0 else { return progress }
        return min(progress + Double(bytesInFlight) / Double(size), 1)
    }

    /// Creates the report of a path that was only seen so far.
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
