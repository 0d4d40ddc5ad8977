import TestSupport
import Testing

@testable import Ledger
@testable import UploadCore

@Suite("Writes that are not durable yet")
struct UnsavedTests {
    private let path: RelativePath
    private var unsaved = Unsaved()

    init() throws {
        path = try #require(RelativePath("a"))
    }

    /// Begins a commit with these changes.
    ///
    /// - Returns: the number of the commit.
    private mutating func add(_ writes: [LedgerWrite]) -> UInt64 {
        let commit = unsaved.begin()
        unsaved.add(writes, to: commit)
        return commit
    }

    @Test("are visible until they are durable")
    mutating func told() {
        let record = DropRecord(path: path, state: .done, acceptedAt: WallTime(milliseconds: 0))
        let commit = add([.drop(record)])
        #expect(unsaved.covers(path))
        #expect(unsaved.drop(at: path) == record)
        unsaved.saved([.drop(record)], by: commit)
        #expect(!unsaved.covers(path))
    }

    @Test("show the newest of several pending changes")
    mutating func newest() {
        let old = DropRecord(path: path, state: .queued, acceptedAt: WallTime(milliseconds: 0))
        let first = add([.drop(old)])
        let second = add([.forgetDrop(path)])
        unsaved.saved([.drop(old)], by: first)
        #expect(unsaved.covers(path))
        #expect(unsaved.drop(at: path) == nil)
        #expect(unsaved.records.isEmpty)
        unsaved.saved([.forgetDrop(path)], by: second)
        #expect(!unsaved.covers(path))
    }

    @Test("include confirmations, so that no content is sent twice")
    mutating func confirmations() {
        let key = ContentKey(high: 1, low: 2)
        let confirmation = UploadCore.Confirmation(
            key: key, seal: ContentSeal(size: 1, digest: 1), scope: RemoteScope("s"),
            remote: RemoteObject(id: "1", url: nil), confirmedAt: WallTime(milliseconds: 0))
        let commit = add([.confirmation(confirmation)])
        #expect(unsaved.confirmation(of: key) == confirmation)
        unsaved.saved([.confirmation(confirmation)], by: commit)
        #expect(unsaved.confirmation(of: key) == nil)
    }
}
