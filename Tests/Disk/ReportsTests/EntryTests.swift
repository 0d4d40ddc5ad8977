import AgentTestSupport
import Foundation
import Testing
import UploadCore

@testable import Reports

@Suite("A client reads all members of a report from its JSON")
struct EntryTests {
    private func expectAllMembers(of entry: Any, besides missing: String = "") {
        for case (let name?, let value) in Mirror(reflecting: entry).children where name != missing {
            let mirror = Mirror(reflecting: value)
            #expect(mirror.displayStyle != .optional || !mirror.children.isEmpty, "\(name)")
        }
    }

    /// A report in which every member has a value.
    private func full(_ path: RelativePath) -> FileReport {
        let time = WallTime(milliseconds: 1_795_253_400_123)
        var report = FileReport.seen(path, .waiting)
        report.key = ContentKey(hexadecimal: "9e107d9d372bb6826bd81d3542a419d6")
        report.type = MediaType(kind: .image, mime: "image/jpeg")
        report.size = 4_834_205
        report.facts = MediaFacts(width: 4032, height: 3024)
        report.fragments = .init(total: 10, finished: 3)
        report.progress = 0.33339
        report.hashed = 1000
        report.remote = RemoteObject(id: "43", url: "https://example.org/43")
        report.product = Product(
            original: DropContent(key: ContentKey(high: 1, low: 1), seal: ContentSeal(size: 4_834_205, digest: 1)),
            recipe: "jpeg quality=85",
            made: .init(type: .other, size: 1_000_000, facts: MediaFacts(width: 640, height: 480, duration: 1)),
            error: "none")
        report.productKey = ContentKey(high: 1, low: 2)
        report.deduplicated = true
        report.attempts = 2
        report.nextAttemptAt = time
        report.error = FileError(code: "http_503", message: "a \"bad\"\nday", retryable: true)
        report.startedAt = time
        report.finishedAt = time
        report.source = "abc"
        report.movedFrom = RelativePath("sea/old.jpg")
        report.bytesPerSecond = 1000
        report.bytesInFlight = 500
        return report
    }

    @Test("for a file with all members")
    func file() throws {
        let report = full(try #require(RelativePath("Sent/a.jpg")))
        let entry = try FileEntry(report)
        #expect(entry.id == report.id && entry.path == "Sent/a.jpg" && entry.state == "waiting")
        #expect(entry.key == report.key?.description && entry.size == 4_834_205 && entry.progress == 0.3333)
        #expect(entry.error?.code == "http_503" && entry.error?.message == "a \"bad\"\nday")
        #expect(entry.remote == .init(protocol: "filesection", id: "43", url: "https://example.org/43"))
        #expect(entry.product?.size == 1_000_000 && entry.product?.duration == 1)
        #expect(entry.moved_from == "sea/old.jpg" && entry.speed == 1000 && entry.bytes_in_flight == 500)
        expectAllMembers(of: entry, besides: "path_bytes")
    }

    @Test("for a file without any known member and a name that is not UTF-8")
    func fresh() throws {
        let report = FileReport.seen(try #require(RelativePath([0x61, 0xFF])))
        let entry = try FileEntry(report)
        #expect(entry.path == "a%FF" && entry.path_bytes == "Yf8=" && entry.key == nil && entry.error == nil)
    }

    @Test("for a file that is done", arguments: [(FileState.done, 1), (.verifying, 0.9999)])
    func progress(state: FileState, shown: Double) throws {
        var report = try FileReport.sample("a.jpg", state)
        report.progress = 1
        #expect(try FileEntry(report).progress == shown)
    }

    @Test("for a post with files")
    func post() throws {
        let time = WallTime(milliseconds: 1_795_253_400_123)
        var report = SourceReport.seen(try #require(RelativePath([0x73, 0xFF])), .file(.waiting))
        report.title = "A \"day\""
        report.cover = RelativePath("a.jpg")
        report.revision = 2
        report.url = "https://example.org/p/7"
        report.progress = 0.42
        report.size = 9_668_410
        var inside = full(report.directory.appending("a.jpg".utf8))
        inside.movedFrom = nil
        report.files = [inside, full(try #require(RelativePath("Sent/b.jpg"))), try .sample("c.jpg", .queued)]
        report.skipped = [try #require(RelativePath("gone.jpg"))]
        report.pendingChanges = [try #require(RelativePath([0x6E, 0xFF]))]
        report.nextAttemptAt = time
        report.error = FileError(code: "http_503", message: "no", retryable: true)
        report.finishedAt = time
        let entry = try SourceEntry(report)
        #expect(entry.title == "A \"day\"" && entry.revision == 2 && entry.skipped == ["gone.jpg"])
        #expect(entry.files.count == 3 && entry.files[0].name == "a.jpg" && entry.files[0].size == 4_834_205)
        expectAllMembers(of: entry)
    }

    @Test("for a draft without files")
    func draft() throws {
        let report = try SourceReport.sample("sea", .draft)
        let entry = try SourceEntry(report)
        #expect(entry.state == "draft" && entry.files.isEmpty)
    }
}
