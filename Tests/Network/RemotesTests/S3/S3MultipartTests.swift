import Digests
import HTTPTypes
import Testing
import Transport
import UploadCore

@testable import Remotes

@Suite("S3: multipart uploads")
struct S3MultipartTests: S3Steps {
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
        #expect(try await server.s3.resume(content.upload(RemoteHandle(id: "", object: "k"))) == .unasked)
    }

    @Test("digests from the hashing of the content go with its parts, until the server refuses them")
    func knownDigests() async throws {
        let server = FakeS3Server()
        let content = try large(server)
        let store = try #require(server.s3.partDigests)
        let wrong = (0..<content.plan.count).map { PartDigests(md5: MD5Hasher.hash([UInt8($0)])) }
        store.store(wrong, of: content.key)
        let handle = try await handle(content, server)
        await #expect(throws: RemoteFailure.self) { try await server.s3.send(content.fragment(0, id: handle)) }
        let sent = try #require(server.transport.requests.last)
        #expect(sent.headers["Content-MD5"] == MD5Hasher.hash([0]).base64)
        let receipts = try await RemoteConformance(server: server).sendAll(content, id: handle)
        guard case .confirmed = try await finish(content.upload(handle, receipts: receipts), server) else {
            throw RemoteConformance.Unexpected("not confirmed")
        }
        #expect(server.holds(content))
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

    @Test("an upload of an earlier run whose checksums the configuration no longer asks for is registered again")
    func otherChecksums() async throws {
        let server = FakeS3Server { $0.checksum = .sha256 }
        let content = try large(server)
        let handle = try await handle(content, server)
        let receipts = try await RemoteConformance(server: server).sendAll(content, id: handle)
            .mapValues { PartReceipt(tag: PartReceipt($0).tag).text }
        let upload = content.upload(handle, receipts: receipts)
        #expect(await server.another().finish([upload]) == [.failure(.forgotten)])
        // This run created the upload for the same checksums: another one would end the same way.
        #expect(failure(await server.s3.finish([upload]).first) == "refused_setting")
    }

    @Test("a store that wants other checksums of parts refuses a setting, and says what it misses")
    func refusedChecksum() async throws {
        let server = FakeS3Server { $0.checksum = .none }
        let content = try large(server)
        let handle = try await handle(content, server)
        server.change { $0.errors = [("UploadPart", 400, "InvalidRequest"), ("UploadPart", 400, "InvalidRequest")] }
        await #expect {
            try await server.s3.send(content.fragment(0, id: handle))
        } throws: {
            guard case .temporary(let error, _, .lasting)? = $0 as? RemoteFailure else { return false }
            return error.code == "refused_setting" && error.message.contains("checksum")
        }
        await #expect(throws: RemoteFailure.forgotten) {
            try await server.another().send(content.fragment(0, id: handle))
        }
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

    @Test("an object that was joined wrongly does not count as existing afterwards", arguments: [true, false])
    func joinedWrongly(knowsParts: Bool) async throws {
        let server = FakeS3Server(.joinsWrongly)
        let content = try large(server)
        let digests = (0..<content.plan.count).map { index in
            let range = content.plan.range(of: index)
            return PartDigests(md5: MD5Hasher.hash(Array(content.bytes[Int(range.lowerBound)..<Int(range.upperBound)])))
        }
        let handle = try await handle(content, server)
        let receipts = try await RemoteConformance(server: server).sendAll(content, id: handle)
        guard case .failed = try await finish(content.upload(handle, receipts: receipts), server) else {
            throw RemoteConformance.Unexpected("not failed")
        }
        server.change { $0.quirks = [] }
        // Without the digests of its parts, another run knows only that the assembly failed.
        let remote = knowsParts ? server.s3 : server.another()
        if knowsParts { server.s3.partDigests?.store(digests, of: content.key) }
        var description = content.description
        description.isDoubted = !knowsParts
        guard case .registered(let second, _) = try await remote.register([description])[0].get() else {
            throw RemoteConformance.Unexpected("existing")
        }
        #expect(second.name == "in/\(content.key) (2).jpg")
        let known = content.upload(RemoteHandle(id: handle.name))
        if knowsParts { #expect(await remote.prove([known]) == [.failure(.forgotten)]) }
        let again = try await RemoteConformance(server: server).sendAll(content, id: second)
        guard case .confirmed = try await finish(content.upload(second, receipts: again), server) else {
            throw RemoteConformance.Unexpected("not confirmed")
        }
        #expect(server.holds(content))
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
        let template = try NameTemplate("{name}")
        let server = FakeS3Server(.ignoresConditions) { $0.key = template }
        let contents = try (1...3).map { try RemoteConformance(server: server).content($0) }
        var handles: [RemoteHandle] = []
        for content in contents { handles.append(try await handle(content, server)) }
        #expect(handles.map(\.name) == ["beach.jpg", "beach (2).jpg", "beach (3).jpg"])
        #expect(try await handle(contents[1], server).name == "beach (2).jpg")
        try await server.s3.remove([handles[0]])
        #expect(try await handle(try small(4), server).name == "beach.jpg")
    }

    @Test("a removal that an earlier run left ends no claim of this run")
    func claimAfterARemoval() async throws {
        let template = try NameTemplate("{name}")
        let server = FakeS3Server(.ignoresConditions) { $0.key = template }
        let contents = try (1...2).map { try RemoteConformance(server: server).content($0) }
        let old = try await handle(contents[0], server)
        let run = server.another()
        guard case .registered(let first, _) = try await run.register([contents[0].description])[0].get() else {
            throw RemoteConformance.Unexpected("existing")
        }
        #expect(first.name == old.name && first.id != old.id)
        try await run.remove([old])
        guard case .registered(let second, _) = try await run.register([contents[1].description])[0].get() else {
            throw RemoteConformance.Unexpected("existing")
        }
        #expect(second.name == "beach (2).jpg")
    }

    @Test("a claimed name is no obstacle to a content that the store has under it")
    func claimOfExisting() async throws {
        let template = try NameTemplate("{name}")
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
        let template = try NameTemplate("{name}")
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
        "an upload whose name another content took is registered again",
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
        // Another upload stored the content. This one counts as forgotten: the agent removes it later.
        try await RemoteConformance(server: server).uploadsAContent()
        server.change { $0.errors = [("AbortMultipartUpload", 403, "AccessDenied")] }
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
}
