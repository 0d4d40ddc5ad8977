package import UploadCore

/// The full report of one path at one moment: the content of its sidecar and of the control interface's answer.
///
/// Derived from ledger and machine each time, and never read back as truth.
package struct FileReport: Equatable, Sendable {
    /// How many fragments exist, and how many the server acknowledged.
    package struct Fragments: Equatable, Sendable {
        /// Number of fragments of the content.
        package var total: Int
        /// Number of fragments the server acknowledged.
        var finished: Int

        /// Creates fragment counts.
        package init(total: Int, finished: Int) {
            self.total = total
            self.finished = finished
        }
    }

    /// The path of the file, relative to the outbox.
    package var path: RelativePath
    /// MD5 of the dropped bytes; `nil` until the file is hashed.
    package var key: ContentKey?
    /// The state of the path.
    package var state: FileState
    /// Picture, video or other, with MIME type; `nil` while unknown.
    package var type: MediaType?
    /// Size in bytes; `nil` if the file could not be examined.
    package var size: UInt64?
    /// Dimensions and duration of a picture or video, as far as they are known.
    package var facts = MediaFacts()
    /// The upload's fragments; `nil` while the content is unknown.
    package var fragments: Fragments?
    /// Share of the bytes that the server acknowledged, 0…1; 1 only when done. While `processing`, the finished share of
    /// the product.
    package var progress: Double
    /// What a recipe made of the file; `nil` if no recipe applies.
    package var product: Product?
    /// The key of the product; `nil` if there is none.
    package var productKey: ContentKey?
    /// Bytes hashed so far, while a large file is being hashed.
    package var hashed: UInt64?
    /// Protocol in use: `filesection`, `tus` or `s3`.
    var remoteProtocol: String
    /// The server's id and URL of the content.
    package var remote: RemoteObject
    /// Whether nothing was sent for this path.
    package var deduplicated: Bool
    /// Number of attempts begun.
    package var attempts: Int
    /// When the next attempt is due, while `waiting`.
    package var nextAttemptAt: WallTime?
    /// The reason for the state.
    package var error: FileError?
    /// When the path was first seen.
    package var acceptedAt: WallTime
    /// When the first fragment was sent.
    package var startedAt: WallTime?
    /// When the path reached a final state.
    package var finishedAt: WallTime?
    /// When this report was made.
    package var updatedAt: WallTime
    /// The id of the file's source. Control interface only.
    package var source: String?
    /// The path under which the file was dropped, if `intake.after_upload` moved it. Control interface only.
    package var movedFrom: RelativePath?
    /// Bytes per second over the last seconds, while uploading. Control interface only.
    package var bytesPerSecond: UInt64?
    /// Bytes of fragments in flight that the peer acknowledged, while uploading. Not part of `progress`, which counts
    /// what the server acknowledged. Control interface only.
    package var bytesInFlight: UInt64?

    /// The product, or why there is none; `nil` if the file's own bytes are uploaded as they should be.
    var shownProduct: Product? { product?.made == nil && product?.error == nil ? nil : product }

    /// Size in bytes of what is uploaded; `nil` if the file could not be examined.
    package var sentSize: UInt64? { product?.made?.size ?? size }

    /// Share of the bytes that the peer has, including fragments in flight; 0…1.
    package var shareOnItsWay: Double {
        guard let bytesInFlight, let sentSize, sentSize > 0 else { return progress }
        return min(progress + Double(bytesInFlight) / Double(sentSize), 1)
    }

    /// Creates the report of a path that was only seen so far.
    package init(
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
