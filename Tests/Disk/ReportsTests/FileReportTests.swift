import AgentTestSupport
import Foundation
import Testing
import UploadCore

@testable import Reports

@Suite("File report")
struct FileReportTests {
    @Test("is written as in docs/sidecars.md")
    func example() throws {
        var report = try sample("trip/beach.jpg")
        report.key = ContentKey(hexadecimal: "9e107d9d372bb6826bd81d3542a419d6")
        report.type = MediaType(kind: .image, mime: "image/jpeg")
        report.size = 4_834_205
        report.facts = MediaFacts(width: 4032, height: 3024)
        report.fragments = .init(total: 10, finished: 3)
        report.progress = 0.3
        report.remote.id = "43"
        report.attempts = 1
        report.startedAt = WallTime(milliseconds: 1_795_253_401_000)
        #expect(
            text(report) == """
                {
                  "version": 1,
                  "path": "trip/beach.jpg",
                  "key": "9e107d9d372bb6826bd81d3542a419d6",
                  "state": "uploading",
                  "kind": "image",
                  "type": "image/jpeg",
                  "size": 4834205,
                  "width": 4032,
                  "height": 3024,
                  "duration": null,
                  "fragments": {"total": 10, "finished": 3},
                  "progress": 0.3,
                  "hashed": null,
                  "remote": {"protocol": "filesection", "id": "43", "url": null},
                  "product": null,
                  "deduplicated": false,
                  "attempts": 1,
                  "next_attempt_at": null,
                  "error": null,
                  "accepted_at": "2026-11-21T09:30:00.123Z",
                  "started_at": "2026-11-21T09:30:01.000Z",
                  "finished_at": null,
                  "updated_at": "2026-11-21T09:30:02.000Z"
                }

                """)
    }

    @Test("has null for unknown members")
    func nulls() throws {
        let object = try read(try sample("a.jpg"))
        for member in ["key", "kind", "type", "size", "width", "height", "duration", "fragments", "error"] {
            #expect(object[member] is NSNull, "\(member)")
        }
    }

    @Test("describes an error with code, message and whether the agent retries")
    func error() throws {
        var report = try sample("a.jpg")
        report.error = FileError(code: "http_503", message: "a \"bad\"\nday", retryable: true)
        let error = try #require(try read(report)["error"] as? [String: Any])
        #expect(error["code"] as? String == "http_503")
        #expect(error["message"] as? String == "a \"bad\"\nday")
        #expect(error["retryable"] as? Bool == true)
    }

    @Test("percent-encodes odd bytes of a path, and adds the bytes")
    func notUTF8() throws {
        let bytes = Array("100%/caf".utf8) + [0xE9] + Array(".jpg".utf8)
        let path = try #require(RelativePath(bytes))
        let object = try read(FileReport.seen(path))
        #expect(object["path"] as? String == "100%25/caf%E9.jpg")
        #expect(object["path_bytes"] as? String == Data(bytes).base64EncodedString())
    }

    @Test("leaves a % in a UTF-8 path alone, and omits the bytes")
    func percent() throws {
        let object = try read(try sample("100%/é.jpg"))
        #expect(object["path"] as? String == "100%/é.jpg")
        #expect(object["path_bytes"] == nil)
    }

    @Test("escapes control characters of a name so that a reader restores them")
    func controlCharacters() throws {
        let name = "a\u{1}\n\"\\\u{7F}.jpg"
        #expect(try read(try sample(name))["path"] as? String == name)
    }

    @Test(
        "rounds progress down, and to 1 only when done",
        arguments: [
            (0, .uploading, 0), (0.33339, .uploading, 0.3333), (0.99999, .uploading, 0.9999), (1, .uploading, 0.9999),
            (1, .verifying, 0.9999), (1, .done, 1), (0.00001, .waiting, 0),
        ] as [(Double, FileState, Double)])
    func progress(value: Double, state: FileState, shown: Double) throws {
        var report = try sample("a.jpg")
        report.progress = value
        report.state = state
        #expect(try read(report)["progress"] as? Double == shown)
    }

    @Test("always gives a path the same opaque id")
    func id() throws {
        let one = try sample("a.jpg").id
        #expect(one.utf8.count == 32)
        #expect(one == (try sample("a.jpg").id))
        #expect(one != (try sample("b.jpg").id))
    }

    @Test("estimates the remaining time from the present speed")
    func eta() throws {
        var report = try sample("a.jpg")
        report.size = 1000
        report.progress = 0.5
        #expect(report.secondsLeft == nil)
        report.bytesPerSecond = 0
        #expect(report.secondsLeft == nil)
        report.bytesPerSecond = 50
        #expect(report.secondsLeft == 10)
    }

    @Test("adds id, speed and remaining time for the control interface, on one line")
    func control() throws {
        var report = try sample("a.jpg")
        report.size = 1000
        report.bytesPerSecond = 100
        let bytes = report.controlText()
        #expect(!bytes.contains(UInt8(ascii: "\n")))
        let entry = try JSONDecoder().decode(FileEntry.self, from: Data(bytes))
        #expect(entry.id == report.id)
        #expect(entry.path == "a.jpg")
        #expect(entry.speed == 100)
        #expect(entry.eta == 10)
    }

    @Test("keeps the order of members for the control interface, and omits unused members of posts and moved files")
    func controlMembers() throws {
        var report = try sample("a.jpg")
        let members = { (report: FileReport) in
            String(decoding: report.controlText(), as: UTF8.self).matches(of: #/[{,]"(\w+)":/#).map { String($0.1) }
        }
        let inner = ["protocol", "id", "url"]
        let sidecar =
            [
                "version", "path", "key", "state", "kind", "type", "size", "width", "height", "duration", "fragments",
                "progress", "hashed", "remote",
            ] + inner + [
                "product", "deduplicated", "attempts", "next_attempt_at", "error", "accepted_at", "started_at",
                "finished_at",
                "updated_at",
            ]
        #expect(members(report) == ["id"] + sidecar + ["speed", "eta", "bytes_in_flight"])
        report.source = "abc"
        report.movedFrom = report.path
        #expect(
            members(report) == ["id"] + sidecar + ["source", "moved_from", "speed", "eta", "bytes_in_flight"])
    }

    @Test(
        "distinguishes its sidecars from foreign files, also after a directory was renamed",
        arguments: [
            ("trip/a.jpg", "trip/a.jpg", true), ("trip/a.jpg", "travel/a.jpg", true), ("a.jpg", "new/a.jpg", true),
            ("trip/a.jpg", "a.jpg", true), ("trip/a.jpg", "trip/b.jpg", false), ("trip/ba.jpg", "trip/a.jpg", false),
            ("a\nb\".jpg", "new/a\nb\".jpg", true),
        ])
    func ours(written: String, path: String, isOurs: Bool) throws {
        let text = try sample(written).sidecarText()
        #expect(FileReport.isSidecar(text, of: try #require(RelativePath(path))) == isOurs)
    }

    @Test("rejects texts that are no sidecar", arguments: ["", "{}", "{\n  \"version\": 1,\n  \"path\": \"", "beach"])
    func foreign(text: String) throws {
        #expect(!FileReport.isSidecar(Array(text.utf8), of: try #require(RelativePath("a.jpg"))))
    }

    private func sample(_ path: String) throws -> FileReport {
        FileReport.seen(try #require(RelativePath(path)), .uploading)
    }

    private func text(_ report: FileReport) -> String { String(decoding: report.sidecarText(), as: UTF8.self) }

    private func read(_ report: FileReport) throws -> [String: Any] {
        let object = try JSONSerialization.jsonObject(with: Data(report.sidecarText()))
        return try #require(object as? [String: Any])
    }
}
