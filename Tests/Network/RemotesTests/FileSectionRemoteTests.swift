import Foundation
import HTTPTypes
import Synchronization
import Testing
import Transport
import URLs
import UploadCore

@testable import Remotes

@Suite("The fileSection protocol")
struct FileSectionRemoteTests {
    private func remote(_ transport: ScriptedTransport, token: String? = "secret") -> FileSectionRemote {
        FileSectionRemote(
            url: "https://host/base", account: "me", transport: transport,
            authorizer: BearerAuthorizer(FixedToken(token: token), url: "https://host"))
    }

    private func isBadReply(_ failure: RemoteFailure) -> Bool {
        if case .temporary(let error, _, _) = failure { error.code == "bad_reply" } else { false }
    }

    // MARK: preLoad

    @Test("registers several files in one request of the exact format")
    func preLoad() async throws {
        let transport = ScriptedTransport(data: #"{"fileIds":["43","44"],"existing":["44"]}"#)
        var video = try TestContent(2, size: 20, name: "clip.mp4", type: MediaType(kind: .video, mime: "video/mp4"))
            .description
        (video.facts, video.modified) = (MediaFacts(width: 640, height: 480, duration: 1.5), nil)
        video.sha256 = StrongDigest([UInt8](repeating: 0xab, count: 32))
        let picture = try TestContent(1, size: 19_232).description
        let results = await remote(transport).register([picture, video])
        #expect(
            results == [
                .success(.registered(RemoteHandle(id: "43"), .asRecorded)),
                .success(.existing(RemoteObject(id: "44", url: nil))),
            ])
        let request = try #require(transport.requests.first)
        #expect(request.method == "POST" && request.url == "https://host/base/fileSection/preLoad.do")
        #expect(request.headers == ["Content-Type": "application/json", "Authorization": "Bearer secret"])
        let expected: NSDictionary = [
            "fileCount": 2,
            "files": [
                [
                    "fileName": "beach.jpg", "totalSize": 19_232, "md5": picture.key.description,
                    "mimeType": "image/jpeg", "path": "trip/beach.jpg", "modified": 1_700_000_000_123,
                ],
                [
                    "fileName": "clip.mp4", "totalSize": 20, "md5": video.key.description,
                    "mimeType": "video/mp4", "path": "trip/clip.mp4", "width": 640, "height": 480, "duration": 1.5,
                    "sha256": String(repeating: "ab", count: 32),
                ],
            ],
        ]
        #expect(request.json as NSDictionary == expected)
    }

    @Test("a name that is not UTF-8 is sent with the invalid bytes encoded")
    func oddName() async throws {
        let transport = ScriptedTransport(data: #"{"fileIds":["1"]}"#)
        var upload = try TestContent(1, size: 1).description
        upload.path = try #require(RelativePath(Array("d/".utf8) + [0xFF, 0x2E, 0x6A]))
        _ = await remote(transport).register([upload])
        let files = transport.requests.first?.json["files"] as? [[String: Any]]
        #expect(files?.first?["fileName"] as? String == "%FF.j")
        #expect(files?.first?["path"] as? String == "d/%FF.j")
    }

    @Test(
        "other odd names are sent unchanged",
        arguments: ["\"; filename=\"x.jpg", "a\r\n\r\nb.jpg", "-x", "\u{1F600}.jpg", "a.j\"p\"g", "\u{301}x.jpg"])
    func unchangedName(name: String) async throws {
        let transport = ScriptedTransport(data: #"{"fileIds":["1"]}"#)
        _ = await remote(transport).register([try TestContent(1, size: 1, name: name).description])
        let files = transport.requests.first?.json["files"] as? [[String: Any]]
        #expect(files?.first?["fileName"] as? String == name)
    }

    @Test("without a token, requests have no Authorization header")
    func noToken() async throws {
        let transport = ScriptedTransport(data: #"{"fileIds":["1"]}"#)
        _ = await remote(transport, token: nil).register([try TestContent(1, size: 1).description])
        #expect(transport.requests.first?.headers["Authorization"] == nil)
    }

    @Test("numeric ids are read as text")
    func numericIDs() async throws {
        let transport = ScriptedTransport(data: #"{"fileIds":[43],"existing":[43]}"#)
        let results = await remote(transport).register([try TestContent(1, size: 1).description])
        #expect(results == [.success(.existing(RemoteObject(id: "43", url: nil)))])
    }

    @Test("an id that is the token, or has it inside, is never taken: ids stand in sidecars and in the log")
    func tokenAsID() async throws {
        let (short, long) = ("sesame", "a-token-of-16-bytes-or-more")
        for (token, id, isTaken) in [
            (short, short, false), (long, long, false), (long, "x-\(long)", false), (short, "sesame-43", true),
            (long, "43", true),
        ] {
            let transport = ScriptedTransport(data: #"{"fileIds":["\#(id)"]}"#)
            let results = await remote(transport, token: token).register([try TestContent(1, size: 1).description])
            if case .success = results[0] { #expect(isTaken, "\(id)") } else { #expect(!isTaken, "\(id)") }
            #expect(!"\(results)".contains(token) || isTaken)
        }
    }

    @Test(
        "one invalid id makes the whole reply bad",
        arguments: [
            #"{"fileIds":[]}"#, #"{"fileIds":["1"]}"#, #"{"fileIds":["1","2","3"]}"#, #"{"fileIds":["1","1"]}"#,
            #"{"fileIds":["1",""]}"#, #"{"fileIds":["1","a/b"]}"#, #"{"fileIds":["1","a\"b"]}"#,
            #"{"fileIds":["1","ü"]}"#, #"{"fileIds":["1",null]}"#, #"{"fileIds":"1,2"}"#, "{}", "[]", "null",
            #"{"fileIds":["1","\#(String(repeating: "x", count: 129))"]}"#, #"{"fileIds":["1","a\r\nb"]}"#,
            #"{"fileIds":["1"#,
        ])
    func badIDs(data: String) async throws {
        let uploads = [try TestContent(1, size: 1).description, try TestContent(2, size: 1).description]
        let results = await remote(ScriptedTransport(data: data)).register(uploads)
        #expect(results.count == 2)
        for case .success(let registration) in results { Issue.record("taken: \(registration)") }
        for case .failure(let failure) in results { #expect(isBadReply(failure)) }
    }

    @Test("ids of 128 characters with all legal characters are accepted")
    func longID() async throws {
        let id = "A-Za-z0-9._-" + String(repeating: "x", count: 116)
        let results = await remote(ScriptedTransport(data: #"{"fileIds":["\#(id)"]}"#)).register([
            try TestContent(1, size: 1).description
        ])
        #expect(results == [.success(.registered(RemoteHandle(id: id), .asRecorded))])
    }

    // MARK: upload

    @Test("sends a fragment in the exact format", arguments: [(0, 524_288), (1, 5)])
    func upload(index: Int, length: Int) async throws {
        let transport = ScriptedTransport(data: "{}")
        let content = try TestContent(1, size: 524_293)
        let receipt = try await remote(transport).send(content.fragment(index, id: "43"))
        #expect(receipt == nil)
        let request = try #require(transport.requests.first)
        #expect(request.method == "POST" && request.url == "https://host/base/fileSection/upload.do")
        #expect(
            request.headers["file_block"]
                == #"[{"id":"43","totalSize":524293,"blockTotal":2,"blockNo":\#(index + 1)}]"#)
        #expect(request.headers["Authorization"] == "Bearer secret")
        let start = index * 524_288
        #expect(
            request.parts == [
                SeenRequest.Part(
                    name: "sectionFile", fileName: "43-\(index).jpg", contentType: "image/jpg",
                    bytes: Array(content.bytes[start..<start + length]))
            ])
    }

    @Test("sends several small files in one request of the exact format, once the server takes this")
    func group() async throws {
        let transport = ScriptedTransport { request in
            .success(.json(data: request.endpoint == "preLoad.do" ? #"{"fileIds":["43"],"blocksPerRequest":8}"# : "{}"))
        }
        let remote = remote(transport)
        let contents = try (1...3).map { try TestContent(UInt64($0), size: $0 * 10) }
        _ = await remote.register([contents[0].description])
        let fragments = try contents.enumerated().map { try $1.fragment(0, id: RemoteHandle(id: "\(43 + $0)")) }
        try await remote.send(together: fragments).get()
        let request = try #require(transport.requests.last)
        #expect(
            request.headers["file_block"] == """
                [{"id":"43","totalSize":10,"blockTotal":1,"blockNo":1},\
                {"id":"44","totalSize":20,"blockTotal":1,"blockNo":1},\
                {"id":"45","totalSize":30,"blockTotal":1,"blockNo":1}]
                """)
        #expect(request.parts.map(\.fileName) == ["43-0.jpg", "44-0.jpg", "45-0.jpg"])
        #expect(request.parts.map(\.bytes) == contents.map(\.bytes))
    }

    @Test("a proxy that refuses a request for its size is to blame, not the files")
    func refusedByProxy() async throws {
        let transport = ScriptedTransport { _ in
            let page = "<html><body><h1>413 Request Entity Too Large</h1></body></html>"
            return .success(HTTPReply(status: 413, headers: [.contentType: "text/html"], body: Array(page.utf8)))
        }
        let content = try TestContent(1, size: 4 * 524_288)
        let fragments = try (0..<4).map { try content.fragment($0, id: "43") }
        guard case .failure(.temporary(_, _, .lasting)) = await remote(transport).send(together: fragments) else {
            Issue.record("another failure")
            return
        }
    }

    @Test("divides the progress of a request among its fragments")
    func progress() throws {
        let seen = Mutex<[Int: UInt64]>([:])
        let fragments = try (0..<3).map { index in
            var fragment = try TestContent(UInt64(index), size: 100).fragment(0, id: "43")
            fragment.onProgress = { bytes in seen.withLock { $0[index] = bytes } }
            return fragment
        }
        let report = try #require(FileSectionRemote.progress(of: fragments))
        report(130)
        #expect(seen.withLock { $0 } == [0: 100, 1: 30, 2: 0])
        report(500)
        #expect(seen.withLock { $0 } == [0: 100, 1: 100, 2: 100])
    }

    @Test(
        "names the part after the file's type",
        arguments: [
            (MediaType(kind: .video, mime: "video/quicktime"), "43-0.mov", "video/mov"),
            (MediaType(kind: .image, mime: "image/x-canon-cr2"), "43-0.cr2", "image/cr2"),
            (.other, "43-0.bin", "application/octet-stream"),
        ])
    func partType(type: MediaType, name: String, contentType: String) async throws {
        let transport = ScriptedTransport(data: "{}")
        _ = try await remote(transport).send(TestContent(1, size: 3, type: type).fragment(0, id: "43"))
        #expect(transport.requests.first?.parts.first?.fileName == name)
        #expect(transport.requests.first?.parts.first?.contentType == contentType)
    }

    @Test("a fragment of a changed file is not sent")
    func changedSource() async throws {
        let transport = ScriptedTransport(data: "{}")
        let content = try TestContent(1, size: 100)
        try content.flip(at: 99)
        await #expect(throws: RemoteFailure.source(SourceProblem(path: content.path, kind: .changed))) {
            try await remote(transport).send(content.fragment(0, id: "43"))
        }
        #expect(transport.requests.isEmpty)
    }

    @Test("404 or 410 to a fragment or isFinish means that the server forgot the id", arguments: [404, 410])
    func forgotten(status: Int) async throws {
        let remote = remote(ScriptedTransport { _ in .success(HTTPReply(status: status)) })
        let content = try TestContent(1, size: 1)
        await #expect(throws: RemoteFailure.forgotten) { try await remote.send(content.fragment(0, id: "43")) }
        #expect(await remote.finish([content.upload("43")]) == [.failure(.forgotten)])
        // Deleting an unknown id is no error.
        try await remote.remove(["43"])
        let results = await remote.register([content.description])
        #expect(results != [.failure(.forgotten)])
    }

    // MARK: isFinish and delete

    private func finish(_ data: String, _ ids: [RemoteHandle] = ["43", "44"]) async throws -> [Result<
        FinishOutcome, RemoteFailure
    >] {
        let uploads = try ids.enumerated().map { try TestContent(UInt64($0.offset) + 1, size: 1).upload($0.element) }
        let data = data.replacing("KEY", with: uploads.first?.key.description ?? "")
        let transport = ScriptedTransport(data: data)
        let results = await remote(transport).finish(uploads)
        #expect(transport.requests.first?.url == "https://host/base/fileSection/isFinish.do")
        #expect((transport.requests.first?.json ?? [:]) as NSDictionary == ["fileIds": ids.map(\.id)] as NSDictionary)
        return results
    }

    private func word(_ result: Result<FinishOutcome, RemoteFailure>) -> String {
        switch result {
        case .success(.confirmed(let object)): "confirmed \(object.id ?? "") \(object.url ?? "-")"
        case .success(.assembling): "assembling"
        case .success(.failed): "failed"
        case .failure(.forgotten): "forgotten"
        case .failure(let failure): isBadReply(failure) ? "bad reply" : "\(failure)"
        }
    }

    @Test(
        "isFinish: every answer for each upload",
        arguments: [
            (#"{"finishStatus":1}"#, ["confirmed 43 -", "confirmed 44 -"]),
            (
                #"{"finishStatus":1,"failFileIds":"","urls":{"43":"http://x/1"},"md5":{}}"#,
                ["confirmed 43 http://x/1", "confirmed 44 -"]
            ),
            (
                #"{"finishStatus":1,"urls":{"43":"javascript:alert(1)","44":"https://x/\u202egpj.exe"}}"#,
                ["confirmed 43 -", "confirmed 44 -"]
            ),
            (
                #"{"finishStatus":1,"urls":{"43":"https://x/\#(String(repeating: "a", count: 2040))","44":"f/44"}}"#,
                ["confirmed 43 -", "confirmed 44 -"]
            ),
            (#"{"finishStatus":2}"#, ["assembling", "assembling"]),
            (#"{"finishStatus":0,"failFileIds":"43,44"}"#, ["failed", "failed"]),
            (#"{"finishStatus":0,"failFileIds":"44"}"#, ["assembling", "failed"]),
            (#"{"finishStatus":0,"failFileIds":" 43 , 44"}"#, ["failed", "failed"]),
            (#"{"finishStatus":0,"failFileIds":""}"#, ["forgotten", "forgotten"]),
            (#"{"finishStatus":1,"unknownFileIds":"44"}"#, ["confirmed 43 -", "forgotten"]),
            (#"{"finishStatus":2,"unknownFileIds":"43"}"#, ["forgotten", "assembling"]),
            (#"{"finishStatus":0,"failFileIds":"43","unknownFileIds":"44"}"#, ["failed", "forgotten"]),
            (
                #"{"finishStatus":1,"md5":{"43":"KEY","44":"ffffffffffffffffffffffffffffffff"}}"#,
                ["confirmed 43 -", "failed"]
            ),
            (
                #"{"finishStatus":1,"md5":{"43":"KEY"}}"#,
                ["confirmed 43 -", "confirmed 44 -"]
            ),
            (
                #"{"finishStatus":0,"failFileIds":"43","md5":{"44":"ffffffffffffffffffffffffffffffff"}}"#,
                ["failed", "failed"]
            ),
            (#"{"finishStatus":1,"md5":{"43":"nonsense"}}"#, ["failed", "confirmed 44 -"]),
            (#"{"finishStatus":3}"#, ["bad reply", "bad reply"]),
            (#"{"finishStatus":"1"}"#, ["bad reply", "bad reply"]),
            ("{}", ["bad reply", "bad reply"]), ("", ["bad reply", "bad reply"]),
        ])
    func isFinish(data: String, words: [String]) async throws {
        #expect(try await finish(data).map(word) == words)
    }

    @Test("with a single upload, a failure without ids concerns that upload")
    func singleFailure() async throws {
        #expect(try await finish(#"{"finishStatus":0,"failFileIds":""}"#, ["43"]).map(word) == ["failed"])
    }

    @Test("deletes by id")
    func delete() async throws {
        let transport = ScriptedTransport(data: "{}")
        try await remote(transport).remove(["43", "44"])
        #expect(transport.requests.first?.url == "https://host/base/fileSection/delete.do")
        #expect((transport.requests.first?.json ?? [:]) as NSDictionary == ["fileIds": ["43", "44"]] as NSDictionary)
    }

    @Test("the scope is server and account, and the traits match the protocol")
    func traits() {
        let transport = ScriptedTransport(data: "{}")
        #expect(remote(transport).traits == RemoteTraits(batch: 50, lookahead: 50))
        let other = FileSectionRemote(
            url: "https://host/base", account: "you", transport: transport,
            authorizer: BearerAuthorizer(FixedToken(token: nil), url: "https://host"))
        #expect(remote(transport).scope != other.scope)
    }

    @Test("every request with a token names the configured origin as the only one that may get it")
    func origin() async throws {
        let transport = ScriptedTransport(data: "{}")
        let content = try TestContent(1, size: 1000)
        let remote = FileSectionRemote(
            url: "https://host:1/base", account: "me", transport: transport,
            authorizer: BearerAuthorizer(FixedToken(token: "secret"), url: "https://host:1"))
        _ = await remote.register([content.description])
        _ = try? await remote.send(content.fragment(0, id: "43"))
        _ = await remote.finish([content.upload("43")])
        try? await remote.remove(["43"])
        #expect(transport.requests.count == 4)
        #expect(transport.requests.allSatisfy { $0.origin == WebOrigin("https://host:1") })
    }
}
