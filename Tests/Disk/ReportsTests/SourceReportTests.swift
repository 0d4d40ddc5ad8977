import AgentTestSupport
import Foundation
import Testing
import UploadCore

@testable import Reports

@Suite("Source report")
struct SourceReportTests {
    private func sample() throws -> SourceReport {
        var source = try SourceReport.sample("sea", .file(.uploading))
        source.title = "A day at the \"sea\""
        source.cover = RelativePath("beach.jpg")
        source.revision = 2
        source.url = "https://example.org/p/7"
        source.progress = 0.42
        source.size = 5_000_000
        var beach = try FileReport.sample("sea/beach.jpg", .done, key: "9e107d9d372bb6826bd81d3542a419d6")
        beach.type = MediaType(kind: .image, mime: "image/jpeg")
        beach.progress = 1
        beach.size = 4_000_000
        beach.remote.url = "https://example.org/43"
        var wave = try FileReport.sample("sea/more/wave.mp4", .waiting)
        wave.size = 1_000_000
        wave.progress = 0.25
        wave.error = FileError(code: "unreachable", message: "no route", retryable: true)
        source.files = [beach, wave]
        source.skipped = [try #require(RelativePath("gone.jpg"))]
        source.pendingChanges = [try #require(RelativePath("new.jpg")), try #require(RelativePath("source.toml"))]
        return source
    }

    private func text(_ source: SourceReport) -> String { String(decoding: source.sidecarText(), as: UTF8.self) }

    @Test("is written as in docs/posts.md, one line for each member and file")
    func example() throws {
        let error = #"{"code": "unreachable", "message": "no route", "retryable": true}"#
        let beach =
            #"{"path": "sea/beach.jpg", "name": "beach.jpg", "key": "9e107d9d372bb6826bd81d3542a419d6", "kind": "image", "#
            + #""state": "done", "progress": 1, "size": 4000000, "url": "https://example.org/43", "error": null}"#
        let wave =
            #"{"path": "sea/more/wave.mp4", "name": "more/wave.mp4", "key": null, "kind": null, "state": "waiting", "#
            + #""progress": 0.25, "size": 1000000, "url": null, "error": \#(error)}"#
        #expect(
            text(try sample()) == """
                {
                  "version": 1,
                  "id": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                  "path": "sea",
                  "title": "A day at the \\"sea\\"",
                  "cover": "beach.jpg",
                  "state": "uploading",
                  "revision": 2,
                  "url": "https://example.org/p/7",
                  "progress": 0.42,
                  "size": 5000000,
                  "files": [
                    \(beach),
                    \(wave)
                  ],
                  "skipped": ["gone.jpg"],
                  "pending_changes": ["new.jpg", "source.toml"],
                  "next_attempt_at": null,
                  "error": null,
                  "accepted_at": "2026-11-21T09:30:00.000Z",
                  "finished_at": null,
                  "updated_at": "2026-11-21T09:30:00.000Z"
                }

                """)
    }

    @Test("has the same members on one line, with speed and remaining time")
    func control() throws {
        var source = try sample()
        source.files[1].bytesPerSecond = 500_000
        source.files[1].bytesInFlight = 500_000
        let line = source.controlText()
        #expect(!line.contains(UInt8(ascii: "\n")))
        var told = try #require(JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
        #expect(told.removeValue(forKey: "speed") as? Int == 500_000)
        #expect(told.removeValue(forKey: "eta") as? Int == 4)
        #expect(told.removeValue(forKey: "bytes_in_flight") as? Int == 500_000)
        let sidecar = try #require(JSONSerialization.jsonObject(with: Data(source.sidecarText())) as? NSDictionary)
        #expect(told as NSDictionary == sidecar)
    }

    @Test("has empty lists without files, left-out names or changes")
    func empty() throws {
        let lines = text(try .sample("sea", .draft)).split(separator: "\n")
        for line in ["  \"files\": [],", "  \"skipped\": [],", "  \"pending_changes\": [],", "  \"cover\": null,"] {
            #expect(lines.contains { $0 == line }, "\(line)")
        }
    }

    @Test("has progress 1 only when done")
    func progress() throws {
        var source = try sample()
        source.progress = 1
        #expect(text(source).contains("\n  \"progress\": 0.9999,"))
        source.state = .file(.done)
        #expect(text(source).contains("\n  \"progress\": 1,"))
    }

    @Test("percent-encodes odd bytes, and adds them in base64")
    func oddNames() throws {
        let directory = try #require(RelativePath([0x73, 0xFF]))
        let source = SourceReport(
            id: "1", directory: directory, state: .draft, acceptedAt: WallTime(milliseconds: 0),
            updatedAt: WallTime(milliseconds: 0))
        let entry = try JSONDecoder().decode(SourceEntry.self, from: Data(source.controlText()))
        #expect(entry.path == "s%FF")
        #expect(entry.relativePath == directory)
    }

    @Test("names a moved file by its original path")
    func moved() throws {
        var source = try sample()
        source.files[0].movedFrom = source.files[0].path
        source.files[0].path = try #require(RelativePath("Sent/sea/beach.jpg"))
        let entry = try JSONDecoder().decode(SourceEntry.self, from: Data(source.controlText()))
        #expect(entry.files[0].path == "Sent/sea/beach.jpg")
        #expect(entry.files[0].name == "beach.jpg")
    }

    @Test("The control interface says which source a file belongs to; its sidecar does not")
    func membership() throws {
        var file = try FileReport.sample("sea/a.jpg", .queued)
        file.source = "abc"
        #expect(try JSONDecoder().decode(FileEntry.self, from: Data(file.controlText())).source == "abc")
        #expect(!String(decoding: file.sidecarText(), as: UTF8.self).contains("source"))
    }
}
