import AgentTestSupport
import Foundation
import Testing
import UploadCore

@testable import Reports

@Suite("An entry made from a report equals the entry read from its JSON")
struct EntryTests {
    private func read<Entry: SubjectEntry>(_ report: some SubjectReport, as type: Entry.Type) throws -> Entry {
        try JSONDecoder().decode(Entry.self, from: Data(report.controlText()))
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
        let entry = FileEntry(report)
        #expect(try read(report, as: FileEntry.self) == entry)
        // Catch a member missing from both conversions.
        let members = Mirror(reflecting: entry).children
        #expect(members.count == 24)
        for case (let name?, let value) in members where name != "path_bytes" {
            #expect(
                Mirror(reflecting: value).displayStyle != .optional || !Mirror(reflecting: value).children.isEmpty,
                "\(name)")
        }
    }

    @Test("for a file without any known member and a name that is not UTF-8")
    func fresh() throws {
        let report = FileReport.seen(try #require(RelativePath([0x61, 0xFF])))
        #expect(try read(report, as: FileEntry.self) == FileEntry(report))
    }

    @Test("for a file that is done", arguments: [FileState.done, .verifying])
    func progress(state: FileState) throws {
        var report = try FileReport.sample("a.jpg", state)
        report.progress = 1
        #expect(try read(report, as: FileEntry.self) == FileEntry(report))
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
        let entry = SourceEntry(report)
        #expect(try read(report, as: SourceEntry.self) == entry)
        for case (let name?, let value) in Mirror(reflecting: entry).children {
            #expect(
                Mirror(reflecting: value).displayStyle != .optional || !Mirror(reflecting: value).children.isEmpty,
                "\(name)")
        }
    }

    @Test("for a draft without files")
    func draft() throws {
        let report = try SourceReport.sample("sea", .draft)
        #expect(try read(report, as: SourceEntry.self) == SourceEntry(report))
    }
}
