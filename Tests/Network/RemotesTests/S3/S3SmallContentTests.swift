import HTTPTypes
import Testing
import Transport
import UploadCore

@testable import Remotes

@Suite("S3: contents in one request")
struct S3SmallContentTests: S3Steps {
    @Test("a small content takes a HEAD and a PUT, and keeps its metadata")
    func smallContent() async throws {
        let server = FakeS3Server { $0.storageClass = "COLD" }
        let content = try small(name: "a b+ü%.jpg")
        let object = try await put(content, server)
        #expect(server.log == ["HeadObject", "PutObject"])
        let key = "in/\(content.key).jpg"
        #expect(object == RemoteObject(id: key, url: "\(FakeS3Server.bucket)/\(key)"))
        let stored = try #require(server.objects[key])
        #expect(stored.bytes == content.bytes)
        #expect(stored.headers["x-amz-meta-md5"] == content.key.description)
        #expect(stored.headers["x-amz-meta-mtime"] == "1700000000.123000000")
        #expect(stored.headers["x-amz-meta-path"] == "trip/a%20b%2B%C3%BC%25.jpg")
        #expect(stored.headers["content-type"] == "image/jpeg")
        #expect(stored.headers["x-amz-storage-class"] == "COLD")
        #expect(stored.headers["content-md5"] == content.key.bytes.base64)
        #expect(stored.headers["if-none-match"] == "*")
    }

    @Test("a content that another agent stored is not sent, however many were missing before")
    func known() async throws {
        let server = FakeS3Server()
        for number in 1...UInt64(6) { try await put(try small(number), server) }
        let content = try small(7)
        let other = server.another()
        guard case .registered(let handle, _) = try await other.register([content.description])[0].get() else {
            throw RemoteConformance.Unexpected("existing")
        }
        _ = try await other.send(content.fragment(0, id: handle))
        guard case .existing = try await register(content, server) else {
            throw RemoteConformance.Unexpected("registered anew")
        }
        #expect(server.log.count { $0 == "PutObject" } == 7)
    }

    @Test(
        "a PUT whose tag proves nothing is compared by a HEAD",
        arguments: [.hidesTags, .oddTags] as [FakeS3Server.Quirks])
    func oddTags(quirks: FakeS3Server.Quirks) async throws {
        let server = FakeS3Server(quirks)
        try await put(try small(), server)
        #expect(server.log == ["HeadObject", "PutObject", "HeadObject"])
    }

    @Test(
        "a store without conditions is told none",
        arguments: [.ignoresConditions, .refusesConditions] as [FakeS3Server.Quirks])
    func noConditions(quirks: FakeS3Server.Quirks) async throws {
        let server = FakeS3Server(quirks)
        try await put(try small(1), server)
        try await put(try small(2), server)
        #expect(server.log.count { $0 == "PutObject" } == (quirks == .refusesConditions ? 3 : 2))
        #expect(server.objects.count == 2)
    }

    @Test("a PUT whose reply was lost finds its object")
    func lostPut() async throws {
        let server = FakeS3Server()
        let content = try small()
        let handle = try await handle(content, server)
        server.loseNextReply()
        await #expect(throws: RemoteFailure.self) { try await server.s3.send(content.fragment(0, id: handle)) }
        let receipt = try await server.s3.send(content.fragment(0, id: handle))
        #expect(receipt == content.key.description)
        #expect(server.objects.count == 1)
    }

    @Test("a name that another content takes meanwhile sends the upload back to its registration")
    func takenName() async throws {
        let server = FakeS3Server()
        let content = try small()
        let handle = try await handle(content, server)
        server.change {
            $0.objects[handle.name] = FakeS3Server.Object(bytes: [1], size: 1, tag: "x", headers: [:])
        }
        await #expect(throws: RemoteFailure.forgotten) { try await server.s3.send(content.fragment(0, id: handle)) }
        #expect(try await self.handle(content, server).name == "in/\(content.key) (2).jpg")
    }

    @Test("another content of the same name gets a number")
    func sameName() async throws {
        let template = try NameTemplate("{path}")
        let server = FakeS3Server { $0.key = template }
        #expect(try await put(try small(1), server).id == "trip/beach.jpg")
        #expect(try await put(try small(2), server).id == "trip/beach (2).jpg")
        #expect(try await put(try small(3), server).id == "trip/beach (3).jpg")
        guard case .existing(let object, _) = try await register(try small(2), server) else {
            throw RemoteConformance.Unexpected("registered anew")
        }
        #expect(object.id == "trip/beach (2).jpg")
    }

    @Test("an object counts as the content only if size and digests agree")
    func agreement() throws {
        let key = try #require(ContentKey(hexadecimal: "9e107d9d372bb6826bd81d3542a419d6"))
        let other = "d41d8cd98f00b204e9800998ecf8427e"
        let sha256 = try #require(StrongDigest([UInt8](repeating: 7, count: 32)))
        func object(_ fields: [(String, String)]) throws -> S3Object {
            var headers: HTTPFields = [.contentLength: "5"]
            for (name, value) in fields { try headers.add(name, value) }
            return try #require(S3Object(HTTPReply(status: 200, headers: headers)))
        }
        let table: [([(String, String)], Bool)] = [
            ([("ETag", "\"\(key)\"")], true), ([("ETag", "\"\(other)\"")], false), ([("ETag", "\"\(key)-1\"")], false),
            ([("ETag", "\"x-2\""), ("x-amz-meta-md5", "\(key)")], true),
            ([("ETag", "\"\(other)\""), ("x-amz-meta-md5", "\(key)")], false),
            ([("ETag", "\"\(key)\""), ("x-amz-meta-md5", other)], false),
            (
                [("ETag", other), ("x-amz-meta-md5", "\(key)"), ("x-amz-server-side-encryption", "aws:kms")], true
            ),
            ([("ETag", "\(key)"), ("x-amz-server-side-encryption", "aws:kms")], false),
            ([("ETag", "\(key)"), ("x-amz-server-side-encryption", "AES256")], true),
        ]
        for (fields, expected) in table {
            #expect(try object(fields).isContent(key, size: 5, sha256: nil) == expected, "\(fields)")
            #expect(try object(fields).isContent(key, size: 6, sha256: nil) == false)
            // Without a SHA-256 of its own, the object is compared by MD5.
            #expect(try object(fields).isContent(key, size: 5, sha256: sha256) == expected, "\(fields)")
            #expect(try object(fields).has(sha256) == false)
        }
        let strong = try object([("ETag", "\(key)"), ("x-amz-meta-sha256", "\(sha256)")])
        #expect(strong.isContent(key, size: 5, sha256: sha256) && strong.has(sha256))
        #expect(strong.isContent(key, size: 5, sha256: StrongDigest([UInt8](repeating: 8, count: 32))) == false)
        let page: HTTPFields = [.contentLength: "5", .eTag: "\"1\"", .contentType: "text/html; charset=utf-8"]
        #expect(S3Object(HTTPReply(status: 200, headers: page)) == nil)
        #expect(S3Object(HTTPReply(status: 200, headers: [.contentLength: "5"])) == nil)
    }

    @Test("each checksum reaches the server, which checks it", arguments: S3Checksum.allCases)
    func checksums(checksum: S3Checksum) async throws {
        let server = FakeS3Server { $0.checksum = checksum }
        try await put(try small(), server)
        let content = try large(server)
        let handle = try await handle(content, server)
        let receipts = try await RemoteConformance(server: server).sendAll(content, id: handle)
        guard case .confirmed = try await finish(content.upload(handle, receipts: receipts), server) else {
            throw RemoteConformance.Unexpected("not confirmed")
        }
        let part = try #require(server.transport.requests.first { $0.url.contains("partNumber=1&") })
        #expect((part.headers["Content-MD5"] != nil) == (checksum == .md5))
        #expect((part.headers["x-amz-checksum-crc64nvme"] != nil) == (checksum == .crc64nvme))
        #expect((part.headers["x-amz-checksum-sha256"] != nil) == (checksum == .sha256))
        #expect((part.headers["x-amz-content-sha256"] == "UNSIGNED-PAYLOAD") == (checksum == .none))
    }
}
