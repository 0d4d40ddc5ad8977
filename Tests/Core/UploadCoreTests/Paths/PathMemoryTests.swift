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

    @Test func theBookHoldsNothingOfPathsWhoseContentsWereExamined() throws {
        var book = PathBook(rules: .init(retention: .seconds(60)))
        for number in 0..<10 {
            let path = try #require(RelativePath("\(number).jpg"))
            _ = book.update(DropRecord(path: path, state: .queued, acceptedAt: WallTime(milliseconds: 0)))
        }
        #expect(book.drops.isEmpty)
        #expect(book.changes.isEmpty)
    }

    @Test func theBookHoldsNothingOfAnEventAfterwards() {
        var stage = PathStage()
        let path = RelativePath("a.jpg")
        stage.write(path, 1)
        while !stage.news.isEmpty { stage.tellNext() }
        #expect(stage.record(path) != nil)
        #expect(stage.book.changes.isEmpty)
    }
}
