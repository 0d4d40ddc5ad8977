import AgentTestSupport
import Testing
import UploadCore

@testable import ControlAPI
@testable import Reports

@Suite("Pages of files and what the dashboard shows besides")
struct PageRoutesTests {
    private static let key = "9e107d9d372bb6826bd81d3542a419d6"

    @Test("A page has its files, the counts of what matches, and the place of the next page")
    func page() async throws {
        let bench = try ControlBench()
        let files: [FileReport] = [
            try .sample("trip/Beach.jpg", .done), try .sample("trip/beach.mp4", .failed), try .sample("x.jpg", .done),
        ]
        bench.backend.set { $0.files = files }
        try await bench.serving {
            let first = try await bench.ask("GET", "/v1/files?page=1&search=BEACH&below=trip").body
            #expect(first.contains("\"trip/Beach.jpg\"") && !first.contains("beach.mp4"), "\(first)")
            #expect(first.contains("\"counts\":{\"done\":1,\"failed\":1},\"next\":\"7-\(files[0].id)\"}"), "\(first)")
            let second = try await bench.ask("GET", "/v1/files?page=5&search=beach&after=7-\(files[0].id)").body
            #expect(second.contains("beach.mp4") && second.contains("\"next\":null"), "\(second)")
            let done = try await bench.ask("GET", "/v1/files?page=5&state=done").body
            #expect(done.contains("x.jpg") && !done.contains("beach.mp4"), "\(done)")
        }
    }

    @Test(
        "A malformed page is refused",
        arguments: ["page=0", "page=1001", "page=x", "page=2&after=x", "page=2&after=x-y"])
    func malformed(query: String) async throws {
        let bench = try ControlBench()
        let answer = try await bench.serving { try await bench.ask("GET", "/v1/files?" + query) }
        #expect(answer.status == 400 && answer.body.contains("malformed_page"), "\(answer)")
    }

    @Test(
        "A search finds a text in capitals or not, in any script",
        arguments: [
            ("trip/Beach.JPG", "beach", true), ("trip/beach.jpg", "P/B", true), ("beach", "beach.", false),
            ("Ärger/Öl.jpg", "öl", true), ("Ärger/Öl.jpg", "ÄRGER", true), ("a", "", true), ("", "a", false),
            ("a.jpg", "é", false),
        ])
    func search(path: String, text: String, isFound: Bool) {
        #expect(Array(path.utf8).withUnsafeBytes { PathSearch(text).finds($0) } == isFound)
    }

    @Test("A directory is no prefix of a name")
    func directory() throws {
        let query = PageQuery(size: 1, below: try #require(RelativePath("trip")))
        for (path, isInside) in [("trip/a", true), ("trip", true), ("trips/a", false), ("a/trip/b", false)] {
            #expect(Array(path.utf8).withUnsafeBytes(query.matches) == isInside, "\(path)")
        }
    }

    @Test("A thumbnail is a JPEG that may be stored; a missing one is an error")
    func thumbnail() async throws {
        let bench = try ControlBench()
        let file = try FileReport.sample("a.jpg", .done, key: Self.key)
        bench.backend.set { $0.files = [file] }
        try await bench.serving {
            let reply = try await bench.exchange("/v1/thumbnails/\(Self.key)")
            #expect(reply.contains("200 OK") && reply.contains("image/jpeg") && reply.contains("immutable"), "\(reply)")
            #expect(reply.hasSuffix("jpeg"))
            let same = try await bench.exchange(
                "/v1/thumbnails/\(Self.key)", fields: ["If-None-Match: \"\(Self.key)\""])
            #expect(same.contains("304"), "\(same)")
            let missing = try await bench.ask("GET", "/v1/thumbnails/\(String(repeating: "0", count: 32))")
            #expect(missing.status == 404 && missing.body.contains("no_thumbnail"))
        }
    }

    @Test("The last hour and the settings are served")
    func views() async throws {
        let bench = try ControlBench()
        try await bench.serving {
            let history = try await bench.ask("GET", "/v1/transfers").body
            #expect(history.contains("\"bytes\":[0,5]") && history.contains("\"interval\":10"), "\(history)")
            #expect(try await bench.ask("GET", "/v1/configuration").body == "{\"settings\":[]}\n")
        }
    }

    @Test("Without a place for them, dropped files are refused")
    func noDrops() async throws {
        let bench = try ControlBench()
        #expect(try await bench.serving { try await bench.ask("POST", "/v1/drop?name=a.jpg", body: "x") }.status == 404)
    }
}
