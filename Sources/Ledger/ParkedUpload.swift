import UploadCore

/// An upload that was set aside, with what stands in pages of their own while it is not.
struct ParkedUpload: StoredRecord, Equatable {
    static var table: LedgerTable { .parked }

    var upload: UploadRecord
    var acknowledged: FragmentSet
    var receipts: [Int: String]

    init(upload: UploadRecord, acknowledged: FragmentSet, receipts: [Int: String]) {
        self.upload = upload
        self.acknowledged = acknowledged
        self.receipts = receipts
    }

    init(upload: UploadRecord, pages: [FragmentPage]) {
        let (acknowledged, receipts) = FragmentPage.join(pages, count: upload.plan.count)
        self.init(upload: upload, acknowledged: acknowledged, receipts: receipts)
    }

    /// The pages its fragment states are stored in, but for those that tell nothing.
    var pages: [FragmentPage] {
        stride(from: 0, to: acknowledged.words.count * 64, by: FragmentPage.fragments)
            .map { FragmentPage(of: $0, in: acknowledged, receipts: receipts) }
            .filter { page in !page.receipts.isEmpty || page.words.contains { $0 != 0 } }
    }

    func encodeFields(into encoder: inout RecordEncoder) {
        upload.encodeOldFields(into: &encoder)
        encoder.append(words: acknowledged.words)
        encoder.append(UInt32(truncatingIfNeeded: receipts.count))
        for (index, receipt) in receipts.sorted(by: { $0.key < $1.key }) {
            encoder.append(Int64(index))
            encoder.append(receipt)
        }
        upload.encodeNewFields(into: &encoder)
    }

    static func decodeFields(from decoder: inout RecordDecoder) -> ParkedUpload? {
        var upload = UploadRecord.decodeOldFields(from: &decoder)
        let fragments = upload.plan.size / UInt64(upload.plan.fragmentSize)
        let words = decoder.readWords(atMost: Int(clamping: fragments / 64 + 1))
        var receipts: [Int: String] = [:]
        // An index and the length of a text.
        for _ in 0..<decoder.readCount(ofAtLeast: 12) {
            let index = Int(truncatingIfNeeded: decoder.read(Int64.self))
            receipts[index] = decoder.readText()
        }
        upload.decodeNewFields(from: &decoder)
        return ParkedUpload(upload: upload, acknowledged: FragmentSet(words: words), receipts: receipts)
    }
}

extension FragmentPage {
    /// Puts the pages of one upload together.
    ///
    /// - Parameter count: number of fragments; what lies beyond is left out.
    static func join(_ pages: [FragmentPage], count: Int) -> (acknowledged: FragmentSet, receipts: [Int: String]) {
        var words = [UInt64](repeating: 0, count: (count + 63) / 64)
        var receipts: [Int: String] = [:]
        for page in pages {
            for (offset, word) in page.words.enumerated() {
                let index = page.index * (fragments / 64) + offset
                if index < words.count { words[index] = word }
            }
            for (fragment, receipt) in page.receipts where (0..<count).contains(fragment) {
                receipts[fragment] = receipt
            }
        }
        if count % 64 != 0, let last = words.indices.last { words[last] &= (1 << UInt64(count % 64)) - 1 }
        return (FragmentSet(words: words), receipts)
    }
}
