import Ledger
import UploadCore

// Answers the upload machine's questions about the uploads that only the ledger holds. The machine asks while it changes,
// so nothing here may read it.
extension AgentCore: StoredUploads {
    func upload(of key: ContentKey) throws(UnreadableUpload) -> StoredUpload? {
        do throws(LedgerError) {
            guard let record = try stored.upload(of: key) else { return nil }
            return try complete(record)
        } catch {
            stored.note(error)
            throw UnreadableUpload()
        }
    }

    func uploads(after place: QueuePlace, atMost count: Int) -> StoredPage? {
        stored.asked { () throws(LedgerError) in
            let (records, next) = try stored.queue(after: place, atMost: count)
            var uploads: [StoredUpload] = []
            for record in records { uploads.append(try complete(record)) }
            return StoredPage(uploads: uploads, next: next)
        }
    }

    /// Returns an upload with its fragments and waiters.
    func complete(_ record: UploadRecord) throws(LedgerError) -> StoredUpload {
        let waiters = try stored.records(of: record.key).filter(waits).sorted { $0.path < $1.path }
        var upload = StoredUpload(record: record, waiters: waiters.map { RestoredWaiter($0, posts) })
        // Without an id, nothing of it was sent.
        if record.handle != nil {
            (upload.acknowledged, upload.receipts) = try stored.ledger.fragments(of: record.key, plan: record.plan)
        }
        return upload
    }

    /// Whether a path of the ledger waits for the upload of its content.
    func waits(_ record: DropRecord) -> Bool {
        !record.state.isFinal && !book.isPortrait(record.path) && !book.ownership.isParked(record.account)
    }
}

extension RestoredWaiter {
    /// Describes a path by its record. A post may hold the path.
    init(_ record: DropRecord, _ posts: Posts) {
        self.init(
            path: record.path, paused: record.state == .paused || posts.holds(record), joinedLater: record.deduplicated)
    }
}
