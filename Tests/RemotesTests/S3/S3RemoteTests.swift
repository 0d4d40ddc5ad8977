import HTTPTypes
import Testing
import Transport
import UploadCore

@testable import Remotes

@Suite("S3 remote")
struct S3RemoteTests {
    private func small(_ number: UInt64 = 1, name: String = "beach.jpg") throws -> TestContent {
        try TestContent(number, size: 70_000, name: name, fragmentSize: 5 << 20)
    }

    private func large(_ server: FakeS3Server) throws -> TestContent { try RemoteConformance(server: server).content() }

    private func register(_ content: TestContent, _ server: FakeS3Server) async throws -> Registration {
        try #require(await server.s3.register([content.description]).first).get()
    }

    private func handle(_ content: TestContent, _ server: FakeS3Server) async throws -> RemoteHandle {
        guard case .registered(let handle, _) = try await register(content, server) else {
            throw RemoteConformance.Unexpected("existing")
        }
        return handle
    }

    private func finish(_ upload: RemoteUpload, _ server: FakeS3Server) async throws -> FinishOutcome {
        try #require(await server.s3.finish([upload]).first).get()
    }

    /// Uploads a small content, and returns the names of its object.
    @discardableResult
    private func put(_ content: TestContent, _ server: FakeS3Server) async throws -> RemoteObject {
        let handle = try await handle(content, server)
        let receipt = try #require(try await server.s3.send(content.fragment(0, id: handle)))
        guard case .confirmed(let object) = try await finish(content.upload(handle, receipts: [0: receipt]), server)
        else {
            throw RemoteConformance.Unexpected("not confirmed")
        }
        return object
    }

    /// The code of a failure.
    private func code(_ failure: RemoteFailure?) -> String {
        switch failure {
        case .temporary(let error, _, _), .busyUpload(let error, _), .signedOut(let error), .permanent(let error),
            .outOfStep(let error):
            error.code
        case .forgotten: "forgotten"
        case .source: "source"
        case .cancelled: "cancelled"
        case nil: "none"
        }
    }

    private func failure<Value>(_ result: Result<Value, RemoteFailure>?) -> String {
        if case .failure(let failure) = result { code(failure) } else { "none" }
    }

    private func failureOfRegistration(_ server: FakeS3Server) async throws -> String {
        failure(await server.s3.register([try small().description]).first)
    }

    // MARK: Small contents

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
        #expect(stored.headers["x-amz-meta-mtime"] == "1700000000123")
        #expect(stored.headers["x-amz-meta-path"] == "trip/a%20b%2B%C3%BC%25.jpg")
        #expect(stored.headers["content-type"] == "image/jpeg")
        #expect(stored.headers["x-amz-storage-class"] == "COLD")
        #expect(stored.headers["content-md5"] == content.key.bytes.base64)
        #expect(stored.headers["if-none-match"] == "*")
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
        let template = try S3KeyTemplate("{path}")
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

    @Test("each checksum reaches the server, which checks it", arguments: S3Options.Checksum.allCases)
    func checksums(checksum: S3Options.Checksum) async throws {
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

    // MARK: Multipart uploads

    @Test("after a restart, the list of parts comes page by page, without parts of another size")
    func resume() async throws {
        let server = FakeS3Server()
        let content = try large(server)
        let handle = try await handle(content, server)
        let receipts = try await RemoteConformance(server: server).sendAll(content, id: handle)
        server.change { state in
            state.pageSize = 1
            state.uploads[handle.id]?.parts[2]?.size -= 1
            state.uploads[handle.id]?.parts[9] = FakeS3Server.Part(bytes: [], size: 1, tag: "x")
        }
        #expect(try await server.s3.resume(content.upload(handle)) == .fragments(receipts.filter { $0.key != 1 }))
        #expect(try await server.s3.resume(content.upload(RemoteHandle(id: "", object: "k"))) == .asRecorded)
    }

    @Test("10,000 parts are listed and completed")
    func tenThousandParts() async throws {
        let server = FakeS3Server()
        let plan = S3Remote.traits().plan(for: 100 << 30)
        #expect(plan.count > 5000 && plan.count <= 10_000)
        let count = 10_000
        let parts = (1...count).map {
            ($0, FakeS3Server.Part(bytes: [], size: 5 << 20, tag: "\(ContentKey(high: 0, low: UInt64($0)))"))
        }
        server.change { state in
            state.uploads["long"] = FakeS3Server.Upload(
                key: "k", headers: [:], parts: Dictionary(uniqueKeysWithValues: parts))
        }
        let upload = RemoteUpload(
            key: ContentKey(high: 1, low: 1), handle: RemoteHandle(id: "long", object: "k"),
            plan: FragmentPlan(size: UInt64(count) * 5 << 20, fragmentSize: 5 << 20), type: .other)
        guard case .fragments(let receipts) = try await server.s3.resume(upload) else {
            throw RemoteConformance.Unexpected("no fragments")
        }
        #expect(receipts.count == count)
        var complete = upload
        complete.receipts = receipts
        guard case .confirmed = try await finish(complete, server) else {
            throw RemoteConformance.Unexpected("not confirmed")
        }
        #expect(
            server.log == Array(repeating: "ListParts", count: 10)
                + ["HeadObject", "CompleteMultipartUpload", "HeadObject"])
    }

    @Test("an error in the 200 of a completion is an error, and asking again finds the object")
    func errorInSuccess() async throws {
        let server = FakeS3Server(.forgetsCompletions)
        let content = try large(server)
        let handle = try await handle(content, server)
        let receipts = try await RemoteConformance(server: server).sendAll(content, id: handle)
        server.change { $0.errorInSuccess = "InternalError" }
        let upload = content.upload(handle, receipts: receipts)
        #expect(failure(await server.s3.finish([upload]).first) == "server_error")
        guard case .confirmed = try await finish(upload, server) else {
            throw RemoteConformance.Unexpected("not confirmed")
        }
        #expect(server.holds(content))
    }

    @Test("parts that the server refuses or lacks are sent again")
    func invalidPart() async throws {
        let server = FakeS3Server()
        let content = try large(server)
        let handle = try await handle(content, server)
        var receipts = try await RemoteConformance(server: server).sendAll(content, id: handle)
        let refusal = ("CompleteMultipartUpload", 400, "InvalidPart")
        server.change { $0.errors = [refusal, refusal] }
        guard case .failed(let error) = try await finish(content.upload(handle, receipts: receipts), server) else {
            throw RemoteConformance.Unexpected("not failed")
        }
        #expect(error.code == "assembly_failed")
        receipts[0] = nil
        server.change { $0.uploads[handle.id]?.parts[1] = nil }
        guard case .failed = try await finish(content.upload(handle, receipts: receipts), server) else {
            throw RemoteConformance.Unexpected("not failed")
        }
    }

    @Test("recorded tags that the server refuses are replaced by its own, and no part is sent again")
    func otherTags() async throws {
        let server = FakeS3Server()
        let content = try large(server)
        let handle = try await handle(content, server)
        var receipts = try await RemoteConformance(server: server).sendAll(content, id: handle)
        receipts[0] = "00000000000000000000000000000000"
        guard case .confirmed = try await finish(content.upload(handle, receipts: receipts), server) else {
            throw RemoteConformance.Unexpected("not confirmed")
        }
        #expect(server.holds(content))
    }

    @Test("an upload whose checksums the configuration no longer asks for is aborted, and registered again")
    func otherChecksums() async throws {
        let server = FakeS3Server { $0.checksum = .sha256 }
        let content = try large(server)
        let handle = try await handle(content, server)
        let receipts = try await RemoteConformance(server: server).sendAll(content, id: handle)
            .mapValues { PartReceipt(tag: PartReceipt($0).tag).text }
        #expect(await server.s3.finish([content.upload(handle, receipts: receipts)]) == [.failure(.forgotten)])
        #expect(server.openUploads == 0)
    }

    @Test("a part whose tag is another MD5 is not acknowledged, and holds up no other upload")
    func corruptPart() async throws {
        let server = FakeS3Server(.corrupts)
        let content = try large(server)
        let fragment = try content.fragment(0, id: try await handle(content, server))
        await #expect {
            try await server.s3.send(fragment)
        } throws: {
            if case .busyUpload? = $0 as? RemoteFailure { true } else { false }
        }
    }

    @Test("metadata prove nothing about an object whose tag is another MD5")
    func corruptObject() async throws {
        let server = FakeS3Server(.corrupts)
        let content = try small()
        let handle = try await handle(content, server)
        let receipt = try #require(try await server.s3.send(content.fragment(0, id: handle)))
        guard case .failed = try await finish(content.upload(handle, receipts: [0: receipt]), server) else {
            throw RemoteConformance.Unexpected("not failed")
        }
        let large = try self.large(server)
        server.change { $0.quirks = [] }
        let id = try await self.handle(large, server)
        let receipts = try await RemoteConformance(server: server).sendAll(large, id: id)
        let upload = large.upload(id, receipts: receipts)
        guard case .confirmed = try await finish(upload, server) else {
            throw RemoteConformance.Unexpected("not confirmed")
        }
        server.change { $0.objects[id.name]?.tag = "\(content.key)-\(large.plan.count)" }
        #expect(await server.s3.finish([upload]) == [.failure(.forgotten)])
    }

    @Test("a store that answers 500 for an upload it lost is asked, and the upload starts over")
    func unexplained() async throws {
        let server = FakeS3Server(.failsOnUnknown)
        let content = try large(server)
        let handle = try await handle(content, server)
        let receipts = try await RemoteConformance(server: server).sendAll(content, id: handle)
        server.forgetEverything()
        await #expect(throws: RemoteFailure.forgotten) { try await server.s3.send(content.fragment(0, id: handle)) }
        #expect(await server.s3.finish([content.upload(handle, receipts: receipts)]) == [.failure(.forgotten)])
        let second = try await self.handle(content, server)
        server.change { $0.errors = [("UploadPart", 500, "")] }
        await #expect {
            try await server.s3.send(content.fragment(0, id: second))
        } throws: {
            self.code($0 as? RemoteFailure) == "server_error"
        }
    }

    @Test("another server's 404 ends no upload, no removal and no confirmation")
    func foreignAbsence() async throws {
        let server = FakeS3Server()
        let content = try large(server)
        let handle = try await handle(content, server)
        let receipts = try await RemoteConformance(server: server).sendAll(content, id: handle)
        let upload = content.upload(handle, receipts: receipts)
        server.change { $0.errors = [("CompleteMultipartUpload", 404, "")] }
        #expect(failure(await server.s3.finish([upload]).first) == "bad_reply")
        server.change { $0.errors = [("AbortMultipartUpload", 404, "")] }
        await #expect(throws: RemoteFailure.self) { try await server.s3.remove([handle]) }
        #expect(server.openUploads == 1)
        let object = try await put(try small(), server)
        server.change { $0.errors = [("HeadObject", 404, ""), ("GetObject", 404, "")] }
        let known = try small().upload(RemoteHandle(id: object.id ?? ""))
        #expect(failure(await server.s3.prove([known]).first) == "bad_reply")
    }

    @Test("contents of one name get names of their own before either is in the store")
    func claims() async throws {
        let template = try S3KeyTemplate("{name}")
        let server = FakeS3Server(.ignoresConditions) { $0.key = template }
        let contents = try (1...3).map { try RemoteConformance(server: server).content($0) }
        var handles: [RemoteHandle] = []
        for content in contents { handles.append(try await handle(content, server)) }
        #expect(handles.map(\.name) == ["beach.jpg", "beach (2).jpg", "beach (3).jpg"])
        #expect(try await handle(contents[1], server).name == "beach (2).jpg")
        try await server.s3.remove([handles[0]])
        #expect(try await handle(try small(4), server).name == "beach.jpg")
    }

    @Test("a claimed name is no obstacle to a content that the store has under it")
    func claimOfExisting() async throws {
        let template = try S3KeyTemplate("{name}")
        let server = FakeS3Server { $0.key = template }
        let content = try small(1)
        _ = try await handle(try small(2), server)
        let object = FakeS3Server.Object(
            bytes: content.bytes, size: content.bytes.count, tag: "\(content.key)", headers: [:])
        server.change { $0.objects["beach.jpg"] = object }
        guard case .existing = try await register(content, server) else {
            throw RemoteConformance.Unexpected("registered")
        }
    }

    @Test("contents of an earlier run that share a name never overwrite each other")
    func claimsOfAnotherRun() async throws {
        let template = try S3KeyTemplate("{name}")
        let server = FakeS3Server(.ignoresConditions) { $0.key = template }
        let (first, second) = (try large(server), try RemoteConformance(server: server).content(2))
        let handle = try await handle(first, server)
        let receipts = try await RemoteConformance(server: server).sendAll(first, id: handle)
        let restarted = server.another()
        // The new run claims the name before it hears of the old upload.
        guard case .registered(let other, _) = try await restarted.register([second.description])[0].get() else {
            throw RemoteConformance.Unexpected("existing")
        }
        #expect(other.name == handle.name)
        let upload = first.upload(handle, receipts: receipts)
        #expect(failure(await restarted.finish([upload]).first) == "name_taken")
        try await restarted.remove([other])
        guard case .confirmed = try await restarted.finish([upload])[0].get() else {
            throw RemoteConformance.Unexpected("not confirmed")
        }
        let small = try small(3)
        let late = RemoteHandle(id: "", object: handle.name)
        await #expect(throws: RemoteFailure.forgotten) { try await restarted.send(small.fragment(0, id: late)) }
        #expect(server.objects.count == 1 && server.holds(first))
    }

    @Test("parts of an upload whose content another one stored meanwhile are aborted")
    func takenByTheSame() async throws {
        let server = FakeS3Server()
        let content = try large(server)
        let handle = try await handle(content, server)
        let receipts = try await RemoteConformance(server: server).sendAll(content, id: handle)
        try await RemoteConformance(server: server).uploadsAContent()
        #expect(server.openUploads == 1)
        guard case .confirmed = try await finish(content.upload(handle, receipts: receipts), server) else {
            throw RemoteConformance.Unexpected("not confirmed")
        }
        #expect(server.openUploads == 0)
    }

    @Test(
        "an upload whose name another content took is aborted, and registered again",
        arguments: [[], .ignoresConditions] as [FakeS3Server.Quirks])
    func takenAtTheEnd(quirks: FakeS3Server.Quirks) async throws {
        let server = FakeS3Server(quirks)
        let content = try large(server)
        let handle = try await handle(content, server)
        let receipts = try await RemoteConformance(server: server).sendAll(content, id: handle)
        server.change {
            $0.objects[handle.name] = FakeS3Server.Object(bytes: [1], size: 1, tag: "x", headers: [:])
        }
        let upload = content.upload(handle, receipts: receipts)
        #expect(await server.s3.finish([upload]) == [.failure(.forgotten)])
        #expect(server.openUploads == 0)
        #expect(server.objects[handle.name]?.bytes == [1])
    }

    @Test("credentials that may not abort or list uploads hold up nothing else")
    func deniedAbort() async throws {
        let server = FakeS3Server()
        let content = try large(server)
        let handle = try await handle(content, server)
        let receipts = try await RemoteConformance(server: server).sendAll(content, id: handle)
        server.change { $0.errors = [("AbortMultipartUpload", 403, "AccessDenied")] }
        await #expect {
            try await server.s3.remove([handle])
        } throws: {
            if case .busyUpload(let error, _)? = $0 as? RemoteFailure { error.code == "access_denied" } else { false }
        }
        server.change { $0.errors = [("ListParts", 403, "AccessDenied")] }
        #expect(try await server.s3.resume(content.upload(handle)) == .asRecorded)
        let other = FakeS3Server.Object(bytes: [1], size: 1, tag: "x", headers: [:])
        server.change {
            $0.objects[handle.name] = other
            $0.errors = [("AbortMultipartUpload", 403, "AccessDenied")]
        }
        #expect(await server.s3.finish([content.upload(handle, receipts: receipts)]) == [.failure(.forgotten)])
    }

    @Test("a refusal of both requests does not turn conditions off")
    func conditionsStay() async throws {
        let server = FakeS3Server { $0.storageClass = "COLD" }
        let content = try small()
        let handle = try await handle(content, server)
        server.change { $0.errors = [("PutObject", 501, "NotImplemented"), ("PutObject", 501, "NotImplemented")] }
        await #expect {
            try await server.s3.send(content.fragment(0, id: handle))
        } throws: {
            self.code($0 as? RemoteFailure) == "refused_setting"
        }
        try await put(content, server)
        #expect(server.objects[handle.name]?.headers["if-none-match"] == "*")
    }

    @Test("a store without conditions is asked for the object right before each request")
    func looksBeforeUnconditional() async throws {
        let server = FakeS3Server(.refusesConditions)
        try await put(try small(1), server)
        let content = try small(2)
        let handle = try await handle(content, server)
        server.change {
            $0.objects[handle.name] = FakeS3Server.Object(bytes: [1], size: 1, tag: "x", headers: [:])
        }
        await #expect(throws: RemoteFailure.forgotten) { try await server.s3.send(content.fragment(0, id: handle)) }
        #expect(server.objects[handle.name]?.bytes == [1])
    }

    @Test("an object without a SHA-256 counts as existing by MD5 alone")
    func existingByMD5() async throws {
        let server = FakeS3Server()
        let content = try small()
        try await put(content, server)
        var description = content.description
        description.sha256 = StrongDigest([UInt8](repeating: 7, count: 32))
        for (stored, expected) in [(nil, true), (description.sha256, false)] {
            server.change { state in
                for key in state.objects.keys {
                    state.objects[key]?.headers["x-amz-meta-sha256"] = stored?.description
                }
            }
            guard case .existing(_, let byMD5Alone) = try await server.s3.register([description])[0].get() else {
                throw RemoteConformance.Unexpected("registered")
            }
            #expect(byMD5Alone == expected)
        }
        #expect(server.objects.count == 1)
    }

    @Test("a removal aborts uploads, and deletes no object")
    func removal() async throws {
        let server = FakeS3Server()
        let object = try await put(try small(), server)
        let count = server.log.count
        try await server.s3.remove([RemoteHandle(id: "", object: object.id), RemoteHandle(id: object.id ?? "")])
        #expect(server.log.count == count)
        #expect(server.objects.count == 1)
    }

    @Test("a proof asks for the object")
    func prove() async throws {
        let server = FakeS3Server()
        let content = try small()
        let object = try await put(content, server)
        let upload = content.upload(RemoteHandle(id: object.id ?? ""))
        #expect(await server.s3.prove([upload]) == [.success(.confirmed(object))])
        server.change { $0.objects[object.id ?? ""]?.size += 1 }
        #expect(await server.s3.prove([upload]) == [.failure(.forgotten)])
        server.change { $0.objects = [:] }
        #expect(await server.s3.prove([upload]) == [.failure(.forgotten)])
    }

    // MARK: Credentials, clock and errors

    @Test("temporary credentials send their token")
    func token() async throws {
        let server = FakeS3Server()
        let keys = AccessKeys(id: "ASIA", secret: "s", sessionToken: "token/+==")
        server.change { $0.keys = keys }
        server.credentials.set(AccessKeys(id: "ASIA", secret: "s"))
        #expect(try await failureOfRegistration(server) == "signed_out")
        server.credentials.set(keys)
        try await put(try small(), server)
    }

    @Test("without credentials, nothing is sent")
    func noCredentials() async throws {
        let server = FakeS3Server()
        server.credentials.set(nil)
        #expect(try await failureOfRegistration(server) == "signed_out")
        #expect(server.log.isEmpty)
    }

    @Test("refused credentials sign out, although a HEAD gives no reason")
    func refused() async throws {
        let server = FakeS3Server()
        server.credentials.set(AccessKeys(id: "AKIAOTHER", secret: "x"))
        #expect(try await failureOfRegistration(server) == "signed_out")
        #expect(server.log == ["HeadObject", "GetObject"])
    }

    @Test("a wrong clock is learned, and the next request passes", arguments: [-3600, 86_400] as [Int64])
    func skew(ahead: Int64) async throws {
        let server = FakeS3Server()
        server.change { $0.ahead = ahead }
        #expect(try await failureOfRegistration(server) == "clock_skew")
        try await put(try small(), server)
    }

    @Test("a wrong region is named")
    func region() async throws {
        let server = FakeS3Server { $0.region = "us-west-2" }
        guard
            case .failure(.temporary(let error, _, let outlook)) = await server.s3.register([try small().description])
                .first
        else { throw RemoteConformance.Unexpected("no failure") }
        #expect(error.code == "wrong_region" && outlook == .lasting)
        #expect(
            error.message.hasSuffix("the bucket is not in the region us-west-2: set remote.region to \"eu-central-1\""))
    }

    @Test(
        "errors of an upload are reported by class",
        arguments: [
            (503, "SlowDown", "server_busy"), (404, "NoSuchBucket", "no_such_bucket"),
            (403, "AccessDenied", "access_denied"),
        ])
    func classes(status: Int, error: String, code: String) async throws {
        let server = FakeS3Server()
        let content = try small()
        let handle = try await handle(content, server)
        server.change { $0.errors = [("PutObject", status, error)] }
        let fragment = try content.fragment(0, id: handle)
        await #expect {
            try await server.s3.send(fragment)
        } throws: {
            self.code($0 as? RemoteFailure) == code
        }
    }

    @Test("credentials that may only write upload small contents, and say what large ones lack")
    func writeOnly() async throws {
        let server = FakeS3Server(.hidesObjects)
        try await put(try small(), server)
        let content = try large(server)
        let handle = try await handle(content, server)
        let receipts = try await RemoteConformance(server: server).sendAll(content, id: handle)
        let result = await server.s3.finish([content.upload(handle, receipts: receipts)]).first
        guard case .failure(.busyUpload(let error, _)) = result else {
            throw RemoteConformance.Unexpected("\(String(describing: result))")
        }
        #expect(error.code == "access_denied" && error.message.contains("s3:GetObject"))
    }

    @Test("a portal's page is no object and no success")
    func portal() async throws {
        let page = HTTPReply(status: 200, headers: [.contentType: "text/html"], body: Array("<html>Log in</html>".utf8))
        let transport = ScriptedTransport { _ in .success(page) }
        let options = S3Options(endpoint: "http://s3.example.org", bucket: "photos")
        let keys = FixedKeys(AccessKeys(id: "a", secret: "b"))
        let remote = S3Remote(options, account: "", transport: transport, credentials: keys)
        let content = try small()
        #expect(failure(await remote.register([content.description]).first) == "captive_portal")
        let fragment = try content.fragment(0, id: RemoteHandle(id: "", object: "k"))
        await #expect {
            try await remote.send(fragment)
        } throws: {
            code($0 as? RemoteFailure) == "captive_portal"
        }
        let upload = content.upload(RemoteHandle(id: "x", object: "k"), receipts: [0: "aa"])
        #expect(failure(await remote.finish([upload]).first) == "captive_portal")
    }

    @Test("a key of more than 1024 bytes is refused")
    func longKey() async throws {
        let server = FakeS3Server { $0.prefix = String(repeating: "p", count: 1000) }
        #expect(try await failureOfRegistration(server) == "key_too_long")
        #expect(server.log.isEmpty)
    }

    // MARK: Pictures and posts

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
