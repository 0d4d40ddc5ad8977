import Ledger
import LinuxSystem
import UploadCore

/// Which paths hold a content.
protocol ContentFacts {
    /// Returns the records of all paths that hold a content.
    func records(of key: ContentKey) throws(LedgerError) -> [DropRecord]
    /// Whether any path holds a content.
    func isHeld(_ key: ContentKey) throws(LedgerError) -> Bool
    /// Opens the file of a record; `nil` if it can't be opened, or is another file now.
    func open(_ record: DropRecord) -> SharedDescriptor?
}
