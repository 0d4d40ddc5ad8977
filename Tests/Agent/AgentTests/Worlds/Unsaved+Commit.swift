import UploadCore

@testable import Agent

extension Unsaved {
    /// Begins a commit with these changes.
    ///
    /// - Returns: the number of the commit.
    mutating func add(_ writes: [LedgerWrite]) -> UInt64 {
        let commit = begin()
        add(writes, to: commit)
        return commit
    }
}
