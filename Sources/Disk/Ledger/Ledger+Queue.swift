public import UploadCore

extension Ledger {
    /// Returns uploads of the queue by ascending place. Parked uploads are not in the queue.
    ///
    /// A damaged upload is left out, and further uploads take its place on the page: fewer uploads than `count` mean
    /// that the queue has no more. The cost grows with `count`, not with the queue.
    ///
    /// - Parameters:
    ///   - place: the place before the page: of the last upload read; nil to read from the head of the queue.
    ///   - count: the maximum number of uploads.
    ///   - damaged: called for each unreadable upload.
    public func uploads(
        after place: QueuePlace?, atMost count: Int, damaged: (LedgerError) -> Void = { _ in }
    ) throws(LedgerError) -> [UploadRecord] {
        var found: [UploadRecord] = []
        // The smallest key above the place.
        var next: [UInt8]? = place.map { LedgerKeys.place($0) + [0] } ?? []
        while let start = next, found.count < count {
            let mostUploads = min(count - found.count, 512)
            let page = try read { transaction throws(LMDBError) in
                .success(try QueueIndex.page(from: start, atMost: mostUploads, in: transaction))
            }
            for upload in page?.uploads ?? [] {
                switch upload {
                case .success(let record): found.append(record)
                case .failure(let failure):
                    damage.note(failure)
                    damaged(failure)
                }
            }
            next = page?.next
        }
        return found
    }

    /// Returns the first and the last place of the queue; nil if the queue is empty. The cost does not grow with the
    /// queue.
    ///
    /// A place whose upload is damaged counts too.
    public func queueEnds() throws(LedgerError) -> (first: QueuePlace, last: QueuePlace)? {
        try read { transaction throws(LMDBError) in try QueueIndex.ends(in: transaction).map(Result.success) }
    }
}
