import Testing

@testable import UploadCore

struct PathMemoryTests {
    @Test func theBookHoldsNothingOfPathsWhoseUploadsEnded() throws {
        var book = PathBook(rules: .init(retention: .seconds(60)))
        for number in 0..<10 {
            let path = try #require(RelativePath("\(number).jpg"))
            let record = DropRecord(path: path, state: .queued, acceptedAt: WallTime(milliseconds: 0))
            book.drops[path] = record
            let end = book.end(
                record, .done(RemoteObject(id: nil, url: nil), deduplicated: false), attempts: 1,
                at: WallTime(milliseconds: 1))
            guard case .drop(let ended) = end else { return #expect(Bool(false), "not a record: \(end)") }
            #expect(ended.state == .done)
        }
        #expect(book.drops.isEmpty)
        #expect(book.changes.isEmpty)
    }
}
