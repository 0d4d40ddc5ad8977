import Foundation
import OutboxReceiver
import Testing

@Suite struct RefusalTests {
    private static let content = TestServer.content(1000)

    private static func block(
        _ id: String, size: Int = 1000, total: Int = 1, number: Int = 1
    ) -> [String: Any] {
        ["id": id, "totalSize": size, "blockTotal": total, "blockNo": number]
    }

    /// Sends `body` for an upload of 1000 bytes and expects a 4xx that leaves the upload unchanged.
    private func expectRefused(_ body: Data) async throws {
        try await TestServer.run { server in
            let (id, _) = try server.preLoad(Self.content)
            let reply = try server.sendBody(body, block: Self.block(id))
            #expect((400..<500).contains(reply.status))
            #expect(reply.json["code"] as? Int == reply.status)
            _ = try server.sendBlock(1, of: Self.content, id: id)
            #expect(try server.finishedPath(id).hasPrefix("/f/"))
        }
    }

    @Test func aFragmentThatIsTooShortIsRefused() async throws {
        try await expectRefused(TestServer.multipart(Self.content.dropLast()))
    }

    @Test func aFragmentThatIsTooLongIsRefused() async throws {
        try await expectRefused(TestServer.multipart(Self.content + Data([0])))
    }

    @Test func aBodyWithoutItsLastBoundaryIsRefused() async throws {
        try await expectRefused(TestServer.multipart(Self.content).dropLast(6))
    }

    @Test func aPartOfAnotherNameIsRefused() async throws {
        try await expectRefused(TestServer.multipart(Self.content, name: "file"))
    }

    @Test func aSecondPartIsRefused() async throws {
        try await expectRefused(
            TestServer.multipart(Self.content, end: "\r\n") + TestServer.multipart(Self.content))
    }

    @Test func endlessPartHeadersAreRefused() async throws {
        let fields = String(repeating: "X-Long: \(String(repeating: "a", count: 1000))\r\n", count: 20)
        try await expectRefused(Data("--\(TestServer.boundary)\r\n\(fields)\r\n".utf8) + Self.content)
    }

    @Test func aBodyThatIsNoMultipartIsRefused() async throws {
        try await expectRefused(Self.content)
    }

    @Test func aConnectionLostMidwayDoesNotCountAsArrived() async throws {
        try await TestServer.run { server in
            let (id, _) = try server.preLoad(Self.content)
            let whole = TestServer.multipart(Self.content)
            do {
                let connection = try server.connection()
                try connection.send(
                    "POST", "/fileSection/upload.do", try server.uploadHeaders(Self.block(id)),
                    body: whole.dropLast(100), length: whole.count)
            }
            #expect(try server.isFinish([id]).data["finishStatus"] as? Int == 0)
            _ = try server.sendBlock(1, of: Self.content, id: id)
            #expect(try server.finishedPath(id).hasPrefix("/f/"))
        }
    }

    @Test(arguments: [(999, 1, 1), (1000, 2, 1), (1000, 1, 0), (1000, 1, 2), (1000, 1, -1), (1000, 1, Int.max)])
    func blocksThatDoNotFitTheFileAreRefused(size: Int, total: Int, number: Int) async throws {
        try await TestServer.run { server in
            let (id, _) = try server.preLoad(Self.content)
            let block = Self.block(id, size: size, total: total, number: number)
            // Of another content than the one announced under the id: the client announces its file anew.
            let isOther = size != 1000 || total != 1
            let status = try server.sendBody(TestServer.multipart(Self.content), block: block).status
            #expect(status == (isOther ? 404 : 400))
        }
    }

    @Test(arguments: [
        #"{"fileCount":1,"files":[]}"#, #"{"fileCount":2,"files":[{"fileName":"a","totalSize":1,"md5":"x"}]}"#,
        #"{"files":[{"fileName":"a","totalSize":1,"md5":"x"}]}"#, "{", "", "[]",
        #"{"files":[{"fileName":"a","totalSize":-1,"md5":"9e107d9d372bb6826bd81d3542a419d6"}]}"#,
        #"{"files":[{"fileName":"a","totalSize":99999999999999,"md5":"9e107d9d372bb6826bd81d3542a419d6"}]}"#,
        #"{"files":[{"fileName":"a","totalSize":1e300,"md5":"9e107d9d372bb6826bd81d3542a419d6"}]}"#,
    ])
    func brokenPreLoadsAreRefused(body: String) async throws {
        try await TestServer.run { server in
            let reply = try server.post("/fileSection/preLoad.do", json: body)
            #expect((400..<500).contains(reply.status))
            #expect(reply.json["message"] is String)
        }
    }

    /// Sends a preLoad of a valid file with one extra member. If the name occurs twice, the last value counts.
    private static func preLoad(_ member: String, _ value: String, _ server: TestServer) throws -> HTTPConnection.Reply
    {
        let file = #""fileName":"a.jpg","totalSize":1,"md5":"9e107d9d372bb6826bd81d3542a419d6","\#(member)":\#(value)"#
        return try server.post("/fileSection/preLoad.do", json: "{\"fileCount\":1,\"files\":[{\(file)}]}")
    }

    @Test(arguments: [
        ("fileName", [#""""#]), ("path", ["5"]),
        ("mimeType", ["5", #""image/\u000djpeg""#, #""\u007f""#, "\"image/\(String(repeating: "x", count: 250))\""]),
        ("width", ["-1", "1.5", #""100""#, "true"]), ("height", ["-1", "1e300", "[]"]),
        ("duration", ["-0.1", #""1""#, "{}"]),
        ("modified", ["true", "[]", #""""#, #""yesterday""#, #""nan""#, #""2026-13-01T00:00:00Z""#]),
    ])
    func whatCannotBeTrueOfAFileIsRefused(member: String, values: [String]) async throws {
        try await TestServer.run { server in
            for value in values {
                let reply = try Self.preLoad(member, value, server)
                #expect(reply.status == 400, "\(value)")
                #expect((reply.json["message"] as? String)?.contains(member) == true, "\(value)")
            }
            #expect(server.files("uploads").isEmpty)
        }
    }

    @Test(arguments: [
        ("path", ["null", #""""#]),
        (
            "mimeType",
            ["null", #""""#, #""text/plain; charset=utf-8""#, "\"image/\(String(repeating: "x", count: 249))\""]
        ),
        ("width", ["null", "0", "4032", "4032.0"]), ("height", ["null", "3024"]), ("duration", ["null", "0", "1.5"]),
        ("modified", ["null", "0", "-5000", "1795253400123", "9e18", #""1795253400""#, #""2026-11-21 09:30:00""#]),
        ("somethingElse", ["5"]),
    ])
    func whatMayBeTrueOfAFileIsTaken(member: String, values: [String]) async throws {
        try await TestServer.run { server in
            for value in values {
                let reply = try Self.preLoad(member, value, server)
                #expect(reply.status == 200, "\(value)")
            }
        }
    }

    @Test(arguments: [
        ("GET", "/fileSection/preLoad.do", "POST"), ("HEAD", "/fileSection/upload.do", "POST"),
        ("PUT", "/source/commit.do", "POST"), ("OPTIONS", "/user/portrait.do", "POST"),
        ("POST", "/f/00000000000000000000000000000000/a.jpg", "GET, HEAD"), ("DELETE", "/u/x.jpg", "GET, HEAD"),
        ("POST", "/s/x", "GET, HEAD"), ("POST", "/health", "GET, HEAD"),
    ])
    func anotherMethodIsToldTheRightOne(method: String, path: String, allowed: String) async throws {
        try await TestServer.run(configure: { $0.tokens = "secret anna" }) { server in
            let reply = try server.get(path, method: method)
            #expect(reply.status == 405)
            #expect(reply.headers["allow"] == allowed)
        }
    }

    @Test func aRefusedHEADSendsNoBody() async throws {
        try await TestServer.run { server in
            let connection = try server.connection()
            for path in ["/nothing", "/fileSection/preLoad.do"] {
                try connection.send("HEAD", path)
                #expect((404...405).contains(try connection.reply(hasBody: false).status))
            }
            // If the HEAD reply had a body, the client would read those bytes as the start of this reply.
            try connection.send("GET", "/health")
            #expect(try connection.reply().status == 200)
        }
    }

    @Test func unknownIdsAreNotFound() async throws {
        try await TestServer.run { server in
            let unknown = String(repeating: "0", count: 32)
            let (id, _) = try server.upload(Self.content)
            #expect(try server.isFinish([unknown, "../x"]).status == 404)
            #expect(try server.isFinish([unknown, id]).data["unknownFileIds"] as? String == unknown)
            let body = TestServer.multipart(Self.content)
            #expect(try server.sendBody(body, block: Self.block(unknown)).status == 404)
            #expect(try server.get("/nothing").status == 404)
            #expect(try server.get("/f/\(unknown)/a.jpg").status == 404)
        }
    }

    @Test(arguments: [
        ("../../../etc/passwd", "etc/passwd"), ("/a.jpg", "a.jpg"), ("a/./../b.jpg", "a/b.jpg"), ("..", "a.jpg"),
        ("x\u{0}\n.jpg", "x__.jpg"), ("", "a.jpg"),
        (String(repeating: "é", count: 200) + ".jpg", String(repeating: "é", count: 118) + ".jpg"),
    ])
    func hostilePathsStayInside(path: String, stored: String) async throws {
        try await TestServer.run { server in
            try server.upload(Self.content, path: path)
            #expect(server.files("files") == ["local/\(stored)"])
        }
    }

    @Test func aSymbolicLinkInTheTreeIsNotFollowed() async throws {
        try await TestServer.run { server in
            try server.upload(TestServer.content(10))
            let link = server.root.appending(path: "files/local/trip")
            try FileManager.default.createSymbolicLink(
                at: link, withDestinationURL: server.root.appending(path: "uploads"))
            try server.upload(Self.content, path: "trip/b.jpg")
            #expect(server.files("uploads").isEmpty)
            #expect(FileManager.default.fileExists(atPath: server.root.path + "/files/local/trip (2)/b.jpg"))
        }
    }

    @Test func aFullDiskIsSaidBeforeAnythingIsSent() async throws {
        try await TestServer.run(configure: { $0.freeSpaceFloor = .max / 2 }) { server in
            let reply = try server.post(
                "/fileSection/preLoad.do",
                ["files": [["fileName": "a", "totalSize": 10, "md5": TestServer.md5(Self.content)]]])
            #expect(reply.status == 507)
        }
    }

    @Test func tooManyOpenUploadsAreRefused() async throws {
        try await TestServer.run(configure: { $0.maximumOpenUploads = 1 }) { server in
            _ = try server.preLoad(Self.content)
            let reply = try server.post(
                "/fileSection/preLoad.do",
                ["files": [["fileName": "a", "totalSize": 10, "md5": TestServer.md5(Data([1]))]]])
            #expect(reply.status == 429)
            #expect(reply.headers["retry-after"] != nil)
        }
    }
}
