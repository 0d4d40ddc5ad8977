/// What `UploadMachine` may ask while handling events: the uploads that only the ledger holds.
///
/// The answers include changes that are not durable yet.
public protocol StoredUploads {
    /// Returns the upload of a content; nil if there is none.
    ///
    /// - Throws: if the ledger can't be read.
    func upload(of key: ContentKey) throws(UnreadableUpload) -> StoredUpload?
    /// Returns uploads in the order of the queue, the first behind a place; nil if the ledger can't be read.
    func uploads(after place: QueuePlace, atMost count: Int) -> StoredPage?
}

/// The ledger can't be read, so nobody knows whether it holds the upload.
public struct UnreadableUpload: Error {
    /// Creates the error.
    public init() {}
}

/// An upload as the ledger holds it.
public struct StoredUpload: Sendable {
    /// The upload.
    public var record: UploadRecord
    /// The fragments that the server acknowledged.
    public var acknowledged: FragmentSet
    /// The server's receipts for fragments.
    public var receipts: [Int: String]
    /// The paths that wait for the upload. Empty if nobody wants it any more.
    public var waiters: [RestoredWaiter]

    /// Creates an upload with its waiters.
    public init(
        record: UploadRecord, acknowledged: FragmentSet = FragmentSet(), receipts: [Int: String] = [:],
        waiters: [RestoredWaiter]
    ) {
        self.record = record
        self.acknowledged = acknowledged
        self.receipts = receipts
        self.waiters = waiters
    }
}

/// A part of the queue.
public struct StoredPage: Sendable {
    /// The uploads, in order.
    public var uploads: [StoredUpload]
    /// The place behind which the queue goes on; nil if it has no more uploads.
    public var next: QueuePlace?

    /// Creates a part of the queue.
    public init(uploads: [StoredUpload], next: QueuePlace?) {
        self.uploads = uploads
        self.next = next
    }
}

/// The store of a machine that holds every upload, and the placeholder between events.
public struct NoStoredUploads: StoredUploads {
    /// Creates an empty store.
    public init() {}
    /// There is none.
    public func upload(of key: ContentKey) throws(UnreadableUpload) -> StoredUpload? { nil }
    /// The queue is empty.
    public func uploads(after place: QueuePlace, atMost count: Int) -> StoredPage? {
        StoredPage(uploads: [], next: nil)
    }
}
