import Ledger
import LinuxSystem
import UploadCore

/// Which paths hold a content.
protocol ContentFacts {
    /// Returns the records of all paths that hold a content.
    func records(of key: ContentKey) throws(LedgerError) -> [DropRecord]
    /// Whether any path holds a content.
    func hasPath(of key: ContentKey) throws(LedgerError) -> Bool
    /// Opens the file of a record; `nil` if it can't be opened, or is another file now.
    func open(_ record: DropRecord) -> SharedDescriptor?
}

extension ContentFacts {
    /// Returns the records that change because more is known of their content, in their new form.
    ///
    /// - Parameters:
    ///   - facts: the size of the picture or video.
    ///   - isAll: whether nothing is left to find out.
    /// - Returns: the records, and whether their reports change.
    func records(of key: ContentKey, learning facts: MediaFacts, isAll: Bool) -> [(record: DropRecord, isShown: Bool)] {
        ((try? records(of: key)) ?? []).compactMap { old in
            guard old.facts != facts || old.isExamined != isAll else { return nil }
            var record = old
            record.facts = facts
            record.isExamined = isAll
            // Reports show unknown facts and facts without values alike.
            return (record, old.facts ?? MediaFacts() != facts && !old.isTrace)
        }
    }
}
