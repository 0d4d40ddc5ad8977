import Testing

@testable import UploadCore

@Suite("Index of cancelled and paused files")
struct WishIndexTests {
    private let file = FileIdentity(device: 1, inode: 2, size: 3, modified: 4, changed: 5, born: 6)
    private let key = ContentKey(high: 1, low: 2)

    private func record(_ name: String, _ state: FileState, code: String? = nil) throws -> DropRecord {
        var record = DropRecord(
            path: try #require(RelativePath(name)), state: state, acceptedAt: WallTime(milliseconds: 0))
        record.identity = file
        record.key = key
        record.error = code.map { FileError(code: $0, message: "", retryable: false) }
        return record
    }

    @Test("holds the files that the user cancelled, dismissed or paused")
    func holds() throws {
        for (state, code, isHeld) in [
            (.cancelled, "cancelled", true), (.cancelled, "dismissed", true), (.cancelled, "removed", false),
            (.cancelled, "superseded", false),
            (.paused, nil, true), (.queued, nil, false), (.done, nil, false), (.failed, "refused", false),
        ] as [(FileState, String?, Bool)] {
            var index = WishIndex()
            let record = try record("a", state, code: code)
            index.take(.drop(record))
            #expect(index.paths(of: file) == (isHeld ? [record.path] : []))
            #expect(index.isEmpty == !isHeld)
            #expect(record.bearsWish(for: file) == isHeld && record.wishFollowsContent == isHeld)
        }
    }

    @Test("recognises a file by its identity without device and ctime")
    func file_() throws {
        var index = WishIndex()
        let record = try record("a", .paused)
        index.update(record)
        var other = file
        (other.device, other.changed) = (9, 9)
        #expect(index.paths(of: other) == [record.path])
        other.modified = 9
        #expect(index.paths(of: other) == [])
    }

    @Test("recognises a file still being written by its inode, if there is a birth time")
    func early() throws {
        var index = WishIndex()
        var record = try record("a", .cancelled, code: "cancelled")
        record.key = nil
        record.flags = .cancelledEarly
        index.update(record)
        var grown = file
        (grown.size, grown.modified) = (30, 40)
        #expect(index.paths(of: grown) == [record.path])
        record.flags = []
        index.update(record)
        #expect(index.paths(of: grown) == [])
        record.flags = .cancelledEarly
        record.identity?.born = 0
        grown.born = 0
        index.update(record)
        #expect(index.paths(of: grown) == [])
    }

    @Test("forgets the content of a removed file, and everything of a forgotten path")
    func forgets() throws {
        var index = WishIndex()
        var record = try record("a", .cancelled, code: "cancelled")
        #expect(record.wishFollowsContent)
        record.flags = .fileIsGone
        #expect(!record.wishFollowsContent && record.bearsWish(for: file))
        record.key = nil
        index.update(record)
        #expect(index.paths(of: file) == [record.path])
        index.take(.forgetDrop(record.path))
        #expect(index.paths(of: file) == [])
    }

    @Test("does not grow with the number of cancelled files whose content is known")
    func bounded() throws {
        var index = WishIndex()
        var last = file
        for inode in 0..<20_000 {
            var record = try record("\(inode)", .cancelled, code: "cancelled")
            last.inode = UInt64(inode)
            record.identity = last
            index.update(record)
        }
        let held = (0..<20_000).count { inode in
            last.inode = UInt64(inode)
            return !index.paths(of: last).isEmpty
        }
        #expect(held >= 4096 && held <= 8192)
    }
}
