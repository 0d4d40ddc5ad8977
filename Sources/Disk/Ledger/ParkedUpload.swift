import UploadCore

/// A parked upload with its fragment states, which an active upload stores in separate pages.
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

    /// The pages of the upload's fragment states, without empty pages.
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
        // Each entry takes at least an index and a text's length.
        for _ in 0..<decoder.readCount(ofAtLeast: 12) {
            let index = Int(truncatingIfNeeded: decoder.read(Int64.self))
            receipts[index] = decoder.readText()
        }
        upload.decodeNewFields(from: &decoder)
        return ParkedUpload(upload: upload, acknowledged: FragmentSet(words: words), receipts: receipts)
    }
}

extension FragmentPage {
    /// Joins the pages of one upload.
    ///
    /// - Parameter count: number of fragments; states beyond the last fragment are left out.
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
