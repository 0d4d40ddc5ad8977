import HTTPTypes
import Testing
import Transport
import UploadCore

@testable import Remotes

@Suite("S3: pictures and posts")
struct S3PostTests: S3Steps {
    @Test("a profile picture becomes an object with its MD5 as name, once")
    func portrait() async throws {
        let server = FakeS3Server()
        let picture = Array("picture".utf8)
        let key = try #require(BodyDigests(of: picture, .md5).md5)
        for _ in 0..<2 {
            let url = try await server.s3.replacePortrait(BytesBody(picture))
            #expect(url == "\(FakeS3Server.bucket)/in/portraits/\(key).jpg")
        }
        let object = try #require(server.objects["in/portraits/\(key).jpg"])
        #expect(object.bytes == picture && object.headers["content-type"] == "image/jpeg")
    }

    @Test("a manifest never overwrites another object", arguments: [[], .ignoresConditions] as [FakeS3Server.Quirks])
    func takenManifest(quirks: FakeS3Server.Quirks) async throws {
        let server = FakeS3Server(quirks)
        let other = FakeS3Server.Object(bytes: [1], size: 1, tag: "x", headers: [:])
        server.change { $0.objects["in/posts/0011/3.json"] = other }
        let commit = SourceCommit(
            sourceID: "0011", revision: 3, title: "Sea", cover: nil, fileIDs: [], createdAt: WallTime(milliseconds: 0))
        #expect(try await server.s3.commit(commit) == .taken(latest: 3))
        #expect(server.objects["in/posts/0011/3.json"]?.bytes == [1])
    }

    @Test(
        "an object that can't be read, or that is gone again, proves no manifest",
        arguments: [("GetObject", 403, "access_denied"), ("GetObject", 404, "server_busy")])
    func unproved(operation: String, status: Int, code: String) async throws {
        let server = FakeS3Server()
        // The object that is there when the PUT comes can't be seen.
        server.change { state in
            state.errors = [
                ("HeadObject", 404, "NoSuchKey"), ("PutObject", 412, "PreconditionFailed"), ("HeadObject", 403, "x"),
                (operation, status, status == 403 ? "AccessDenied" : "NoSuchKey"),
            ]
        }
        await #expect {
            _ = try await server.s3.replacePortrait(BytesBody([1]))
        } throws: {
            guard case .busyUpload(let error, _)? = $0 as? RemoteFailure else { return false }
            return error.code == code
        }
    }

    @Test("a portal's page stores nothing")
    func portal() async throws {
        let page = HTTPReply(status: 200, headers: [.contentType: "text/html"], body: Array("<html>Log in</html>".utf8))
        let transport = ScriptedTransport { request in
            .success(request.method == "HEAD" ? HTTPReply(status: 404) : page)
        }
        let options = S3Options(endpoint: "http://s3.example.org", bucket: "photos")
        let keys = FixedKeys(AccessKeys(id: "a", secret: "b"))
        let remote = S3Remote(options, account: "", transport: transport, credentials: keys)
        await #expect {
            _ = try await remote.replacePortrait(BytesBody([1]))
        } throws: {
            self.code($0 as? RemoteFailure) == "captive_portal"
        }
    }

    @Test("a post's manifest names the objects of its files")
    func manifest() async throws {
        let server = FakeS3Server()
        let commit = SourceCommit(
            sourceID: "0011", revision: 3, title: "Sea", cover: "in/a.jpg", fileIDs: ["in/a.jpg", "in/b.jpg"],
            createdAt: WallTime(milliseconds: 1_795_253_400_000))
        #expect(
            try await server.s3.commit(commit) == .done(url: "\(FakeS3Server.bucket)/in/posts/0011/3.json"))
        let object = try #require(server.objects["in/posts/0011/3.json"])
        let text =
            #"{"cover":"in/a.jpg","created":"2026-11-21T09:30:00Z","files":["in/a.jpg","in/b.jpg"],"revision":3,"sourceId":"0011","title":"Sea"}"#
        #expect(String(decoding: object.bytes, as: UTF8.self) == text)
    }
}
