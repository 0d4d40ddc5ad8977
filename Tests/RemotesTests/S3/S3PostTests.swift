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
        await #expect {
            _ = try await server.s3.commit(commit)
        } throws: {
            self.code($0 as? RemoteFailure) == "name_taken"
        }
        #expect(server.objects["in/posts/0011/3.json"]?.bytes == [1])
    }

    @Test("a post's manifest names the objects of its files")
    func manifest() async throws {
        let server = FakeS3Server()
        let commit = SourceCommit(
            sourceID: "0011", revision: 3, title: "Sea", cover: "in/a.jpg", fileIDs: ["in/a.jpg", "in/b.jpg"],
            createdAt: WallTime(milliseconds: 1_795_253_400_000))
        #expect(try await server.s3.commit(commit) == "\(FakeS3Server.bucket)/in/posts/0011/3.json")
        let object = try #require(server.objects["in/posts/0011/3.json"])
        let text =
            #"{"cover":"in/a.jpg","created":"2026-11-21T09:30:00Z","files":["in/a.jpg","in/b.jpg"],"revision":3,"sourceId":"0011","title":"Sea"}"#
        #expect(String(decoding: object.bytes, as: UTF8.self) == text)
    }
}
