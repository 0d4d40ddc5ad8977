import Digests
import Foundation
import Synchronization
import Testing
import Transport
import UploadCore

@testable import Remotes

@Suite("The requests of tus")
struct TusRemoteTests: TusSteps {
    // MARK: Creation

    @Test("the rest of a fragment follows also if the server drops all that arrived of the broken request")
    func dropped() async throws {
        let server = FakeTusServer { $0.losesInterruptedBytes = true }
        try await RemoteConformance(server: server).continuesInTheMiddleOfAFragment()
    }

    @Test("a creation states length and metadata; names that are not UTF-8 are written as in sidecars")
    func creation() async throws {
        let server = FakeTusServer()
        let content = try content()
        var description = content.description
        description.path = try #require(RelativePath(Array("tr,ip/".utf8) + [0xFF, 0x20, 0x2E, 0x6A]))
        _ = try await server.remote.register([description])[0].get()
        let request = try #require(server.requests("POST").first)
        #expect(request.url == FakeTusServer.url && request.field("Tus-Resumable") == "1.0.0")
        #expect(request.field("Upload-Length") == "\(content.bytes.count)")
        let metadata = FakeTusServer.metadata(request.field("Upload-Metadata") ?? "")
        #expect(metadata["filename"] == Array("%FF .j".utf8))
        #expect(metadata["path"] == Array("tr,ip/%FF .j".utf8))
        #expect(metadata["path_bytes"] == Array(Data(description.path.bytes).base64EncodedString().utf8))
        _ = try await server.remote.register([content.description])[0].get()
        let plain = FakeTusServer.metadata(server.requests("POST").last?.field("Upload-Metadata") ?? "")
        #expect(plain["path"] == Array("trip/beach.jpg".utf8) && plain["path_bytes"] == nil)
        #expect(metadata["md5"] == Array(content.key.description.utf8))
        #expect(metadata["mtime"] == Array("1700000000.123000000".utf8))
        #expect(metadata["filetype"] == Array("image/jpeg".utf8))
    }

    @Test("metadata that some servers would refuse as too long leave out the path")
    func longPath() async throws {
        let server = FakeTusServer()
        var description = try content().description
        description.path = try #require(
            RelativePath(String(repeating: String(repeating: "d", count: 250) + "/", count: 14) + "a.jpg"))
        _ = try await server.remote.register([description])[0].get()
        let field = try #require(server.requests("POST").first?.field("Upload-Metadata"))
        #expect(field.utf8.count <= 4096)
        let metadata = FakeTusServer.metadata(field)
        #expect(metadata["path"] == nil && metadata["filename"] == Array("a.jpg".utf8) && metadata["md5"] != nil)
    }

    @Test("a template gives uploads names of their own, and times before 1970 round down")
    func name() async throws {
        let server = FakeTusServer()
        let content = try content()
        let remote = TusRemote(
            url: FakeTusServer.url, account: "me", name: try NameTemplate("{account} {key} {name}"),
            transport: server.network,
            authorizer: BearerAuthorizer(FixedToken(token: nil), url: FakeTusServer.url))
        var description = content.description
        description.modified = -1
        _ = try await remote.register([description])[0].get()
        let metadata = FakeTusServer.metadata(server.requests("POST").first?.field("Upload-Metadata") ?? "")
        #expect(metadata["filename"] == Array("me \(content.key) beach.jpg".utf8))
        #expect(metadata["mtime"] == Array("-1.999000000".utf8))
    }

    @Test(
        "the address of an upload may be absolute or relative",
        arguments: [FakeTusServer.url, "/files/", "", "//tus.example/files/", "../files/"])
    func location(place: String) async throws {
        let server = FakeTusServer { $0.place = place }
        let content = try content()
        let handle = try await register(content, server)
        #expect(handle.id == FakeTusServer.url + "1")
        _ = try await server.remote.send(content.fragment(0, id: handle))
    }

    @Test(
        "an address at another scheme, host or port is a lasting failure, and gets no request",
        arguments: ["http://tus.example/files/", "https://tus.example:8443/files/", "https://other.example/files/"])
    func foreignLocation(place: String) async throws {
        let server = FakeTusServer(token: "secret") { $0.place = place }
        let result = await server.remote.register([try content().description])[0]
        guard case .failure(.temporary(let error, _, .lasting)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(error.code == "wrong_url" && error.retryable && error.message.contains("remote.url"))
        #expect(server.log.allSatisfy { $0.url == FakeTusServer.url })
    }

    @Test("a creation without a usable address is a bad reply", arguments: [nil, "ftp://tus.example/1", "/a b"])
    func badLocation(place: String?) async throws {
        let server = FakeTusServer()
        server.plan("POST", 201, place.map { ["Location": $0] } ?? [:])
        guard case .failure(.temporary(let error, _, _)) = await server.remote.register([try content().description])[0]
        else { throw RemoteConformance.Unexpected("no failure") }
        #expect(error.code == "bad_reply")
    }

    @Test("a creation URL may name the file by its content")
    func template() async throws {
        let server = FakeTusServer()
        let url = "https://tus.example/.tus/in/{key}{ext}"
        let remote = TusRemote(
            url: url, account: "me", transport: server.network,
            authorizer: BearerAuthorizer(FixedToken(token: "secret"), url: FakeTusServer.url))
        let content = try content()
        _ = try await remote.register([content.description])[0].get()
        #expect(
            server.log.map(\.url) == ["https://tus.example/.tus/in/", "https://tus.example/.tus/in/\(content.key).jpg"])
        #expect(remote.scope.server == url)
    }

    // MARK: What the server offers

    @Test("the server is asked once what it offers, before the first creation")
    func discovery() async throws {
        let server = FakeTusServer(token: "secret")
        for _ in 0..<3 { _ = try await register(content(), server) }
        #expect(server.log.map(\.method) == ["OPTIONS", "POST", "POST", "POST"])
        #expect(server.log[0].field("Tus-Resumable") == nil)
        #expect(server.log.allSatisfy { $0.field("Authorization") == "Bearer secret" })
    }

    @Test("a server that does not answer what it offers still gets uploads", arguments: [200, 404, 405, 500])
    func silentServer(status: Int) async throws {
        let server = FakeTusServer {
            $0.optionsStatus = status
            $0.offer = [:]
        }
        _ = try await register(content(), server)
        let late = FakeTusServer()
        late.plan("OPTIONS", .failure(.replyTimeout("late")))
        _ = try await register(content(), late)
    }

    @Test(
        "only an answer that may not pass ends the question what a server offers",
        arguments: [(200, 1), (404, 1), (405, 1), (501, 1), (401, 2), (403, 2), (500, 2), (503, 2), (0, 2)])
    func repeatedQuestion(status: Int, questions: Int) async throws {
        let server = FakeTusServer()
        server.plan(
            "OPTIONS", status == 0 ? .failure(.replyTimeout("late")) : .success(HTTPReply(status: status)))
        for _ in 0..<3 { _ = try await register(content(), server) }
        #expect(server.requests("OPTIONS").count == questions)
    }

    @Test("a server that can't be reached is asked again")
    func unreachable() async throws {
        let server = FakeTusServer()
        server.plan("OPTIONS", .failure(.connect("refused")))
        guard
            case .failure(.temporary(let error, _, .away)) = await server.remote.register([try content().description])[
                0]
        else { throw RemoteConformance.Unexpected("no failure") }
        #expect(error.code == "no_connection")
        _ = try await register(content(), server)
    }

    @Test("a server of other versions is a wrong URL, whether it says so first or in a 412", arguments: [false, true])
    func versions(in412: Bool) async throws {
        let server = FakeTusServer { $0.offer["Tus-Version"] = in412 ? nil : "0.2.2, 2.0" }
        if in412 { server.plan("POST", 412, ["Tus-Version": "0.2.2"]) }
        let result = await server.remote.register([try content().description])[0]
        guard case .failure(.temporary(let error, _, .lasting)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(error.code == "wrong_url" && error.message.contains("0.2.2"))
    }

    @Test("a file over the server's limit is refused without a creation")
    func maximumSize() async throws {
        let server = FakeTusServer { $0.offer["Tus-Max-Size"] = "1000" }
        guard case .failure(.permanent(let error)) = await server.remote.register([try content().description])[0] else {
            throw RemoteConformance.Unexpected("not refused")
        }
        #expect(error.code == "refused" && error.message.contains("1000"))
        #expect(server.requests("POST").isEmpty)
        _ = try await register(TestContent(2, size: 1000), FakeTusServer { $0.offer["Tus-Max-Size"] = "1000" })
        _ = try await register(content(), FakeTusServer { $0.offer["Tus-Max-Size"] = "0" })
    }

    @Test("a limit is asked for again before a file is refused")
    func raisedLimit() async throws {
        let server = FakeTusServer { $0.offer["Tus-Max-Size"] = "1000" }
        _ = try await register(TestContent(2, size: 1000), server)
        guard case .failure(.permanent) = await server.remote.register([try content().description])[0] else {
            throw RemoteConformance.Unexpected("not refused")
        }
        server.network.state.withLock { $0.manner.offer["Tus-Max-Size"] = nil }
        _ = try await register(content(), server)
        #expect(server.requests("OPTIONS").count == 3)
    }

    // MARK: PATCH

    @Test("a PATCH carries a whole fragment, and the last one tells that the upload is complete")
    func patches() async throws {
        let server = FakeTusServer()
        let content = try content()
        let handle = try await register(content, server)
        for (index, receipt) in [nil, nil, TusRemote.completeReceipt].enumerated() {
            #expect(try await server.remote.send(content.fragment(index, id: handle)) == receipt)
        }
        #expect(server.requests("PATCH").map { $0.field("Upload-Offset") } == ["0", "1048576", "2097152"])
        #expect(server.requests("PATCH").map(\.length) == [1 << 20, 1 << 20, 1 << 19])
    }

    @Test(
        "fragments are as large as a PATCH may be",
        arguments: [
            (nil, 1 << 31), (1, 512 << 10), (3 << 19, 3 << 19), ((3 << 19) + 5, 3 << 19), (1 << 40, 1 << 31),
        ] as [(UInt64?, UInt32)])
    func fragmentSize(maximum: UInt64?, size: UInt32) {
        let traits = TusRemote.traits(maximumPatch: maximum)
        #expect(traits.fragmentSize == size && traits.inOrder && traits.asksBeforeResuming && traits.batch == 1)
    }

    @Test("a PATCH refused as too large is split, and later ones are small at once")
    func tooLarge() async throws {
        let server = FakeTusServer(maximumPatch: nil) { $0.longestPatch = 600_000 }
        let content = try TestContent(1, size: 3 << 20, fragmentSize: 4 << 20)
        let handle = try await register(content, server)
        let progress = Mutex<[UInt64]>([])
        var fragment = try content.fragment(0, id: handle, skip: 0)
        fragment.onProgress = { bytes in progress.withLock { $0.append(bytes) } }
        #expect(try await server.remote.send(fragment) == TusRemote.completeReceipt)
        #expect(server.holds(content))
        let lengths: [UInt64] = [3 << 20, 3 << 19] + Array(repeating: 1 << 19, count: 6)
        #expect(server.requests("PATCH").map(\.length) == lengths)
        let seen = progress.withLock { $0 }
        #expect(seen == seen.sorted())
        #expect(seen.last == UInt64(content.bytes.count), "progress covers all PATCHes of a fragment")
        let next = try await register(content, server)
        _ = try await server.remote.send(content.fragment(0, id: next))
        #expect(server.requests("PATCH").count == lengths.count + 6)
    }

    @Test("a server that takes not even 512 KiB at once refuses the file")
    func alwaysTooLarge() async throws {
        let server = FakeTusServer(maximumPatch: nil) { $0.longestPatch = 1000 }
        let content = try content()
        let handle = try await register(content, server)
        let fragment = try content.fragment(0, id: handle)
        guard
            case .permanent(let error) = await failure({ () throws(RemoteFailure) in
                _ = try await server.remote.send(fragment)
            })
        else { throw RemoteConformance.Unexpected("not refused") }
        #expect(error.message.contains("413"))
    }

    @Test("the machine may ask for shorter PATCHes; each is acknowledged alone")
    func shortPatches() async throws {
        let server = FakeTusServer(maximumPatch: nil)
        let content = try TestContent(1, size: 5 << 19, fragmentSize: 4 << 20)
        let handle = try await register(content, server)
        var fragment = try content.fragment(0, id: handle)
        fragment.longestRequest = 1 << 20
        #expect(try await server.remote.send(fragment) == TusRemote.completeReceipt)
        let next = try await register(content, server)
        _ = try await server.remote.send(content.fragment(0, id: next))
        #expect(server.requests("PATCH").map(\.length) == [1 << 20, 1 << 20, 1 << 19, 5 << 19])
    }

    @Test("a refusal as too large, whatever the length, concerns this upload alone")
    func overQuota() async throws {
        let server = FakeTusServer(maximumPatch: nil)
        let content = try TestContent(1, size: 3 << 20, fragmentSize: 4 << 20)
        let handle = try await register(content, server)
        for _ in 0..<3 { server.plan("PATCH", 413) }
        let fragment = try content.fragment(0, id: handle)
        let refusal = await failure({ () throws(RemoteFailure) in _ = try await server.remote.send(fragment) })
        #expect(kind(refusal) == .lasting)
        let next = try await register(content, server)
        _ = try await server.remote.send(content.fragment(0, id: next))
        #expect(server.requests("PATCH").map(\.length) == [3 << 20, 3 << 19, 1 << 19, 3 << 20])
    }

    @Test("no byte of a changed block reaches the server, which keeps what arrives", arguments: [0, 300_000])
    func changed(skip: Int) async throws {
        let server = FakeTusServer()
        let content = try TestContent(1, size: 3 << 19, fragmentSize: 2 << 20)
        let handle = try await register(content, server)
        try content.flip(at: (1 << 20) - 1)
        if skip > 0 { server.network.state.withLock { $0.uploads[1]?.bytes = Array(content.bytes[..<skip]) } }
        let fragment = try content.fragment(0, id: handle, skip: UInt32(skip))
        await #expect(throws: RemoteFailure.source(SourceProblem(path: content.path, kind: .changed))) {
            try await server.remote.send(fragment)
        }
        #expect(server.network.state.withLock { $0.uploads[1]?.bytes } == Array(content.bytes[..<(1 << 19)]))
    }

    @Test("the reply to a PATCH must state the expected offset", arguments: [nil, "0", "999999", "x"])
    func wrongOffset(offset: String?) async throws {
        let server = FakeTusServer()
        let content = try content()
        let handle = try await register(content, server)
        server.plan("PATCH", 204, offset.map { ["Upload-Offset": $0] } ?? [:])
        let fragment = try content.fragment(0, id: handle)
        guard
            case .outOfStep = await failure({ () throws(RemoteFailure) in _ = try await server.remote.send(fragment) })
        else { throw RemoteConformance.Unexpected("accepted") }
    }

    // MARK: Checksums

    @Test("a whole content carries its MD5, a small part its SHA-1, if the server takes these")
    func checksums() async throws {
        let offer = "creation,checksum"
        let whole = try TestContent(1, size: 600_000, fragmentSize: Self.mebibyte)
        for (algorithms, expected) in [("sha1,md5", "md5"), ("sha1", nil), ("", nil)] as [(String, String?)] {
            let server = FakeTusServer {
                $0.offer["Tus-Extension"] = offer
                $0.offer["Tus-Checksum-Algorithm"] = algorithms
            }
            let handle = try await register(whole, server)
            _ = try await server.remote.send(whole.fragment(0, id: handle))
            #expect(server.requests("PATCH")[0].field("Upload-Checksum")?.prefix(3).description == expected)
        }
        let large = try TestContent(2, size: 9 << 20, fragmentSize: 16 << 20)
        let lenient = FakeTusServer(maximumPatch: nil) {
            $0.offer["Tus-Extension"] = offer
            $0.offer["Tus-Checksum-Algorithm"] = "md5"
        }
        _ = try await lenient.remote.send(large.fragment(0, id: register(large, lenient)))
        #expect(lenient.requests("PATCH")[0].field("Upload-Checksum") == nil, "an interruption would cost every byte")
        let server = FakeTusServer {
            $0.offer["Tus-Extension"] = offer
            $0.offer["Tus-Checksum-Algorithm"] = "SHA1"
        }
        let small = try TestContent(3, size: 1000, fragmentSize: Self.mebibyte)
        let handle = try await register(small, server)
        _ = try await server.remote.send(small.fragment(0, id: handle))
        // sha1sum of the bytes.
        let digest = Data(try sha1(small.bytes)).base64EncodedString()
        #expect(server.requests("PATCH")[0].field("Upload-Checksum") == "sha1 \(digest)")
        #expect(server.holds(small))
    }

    /// RFC 3174, section 7.3, has the digest of "abc"; longer texts go through the same function.
    private func sha1(_ bytes: [UInt8]) throws -> [UInt8] {
        #expect(
            SHA1Hasher.hash(Array("abc".utf8)).map { String(format: "%02x", $0) }.joined()
                == "a9993e364706816aba3e25717850c26c9cd0d89d")
        return SHA1Hasher.hash(bytes)
    }

    // MARK: The end

    @Test("no request follows a stated end: the server may know the upload no more")
    func stated() async throws {
        let server = FakeTusServer { $0.finishedStatus = 404 }
        let content = try content(size: 1000)
        let handle = try await register(content, server)
        let receipt = try #require(try await server.remote.send(content.fragment(0, id: handle)))
        let upload = content.upload(handle, receipts: [0: receipt])
        #expect(try await server.remote.resume(upload) == .unasked)
        #expect(await server.remote.finish([upload]) == [.success(.confirmed(RemoteObject(id: handle.id, url: nil)))])
        #expect(server.requests("HEAD").isEmpty)
        #expect(await server.remote.finish([content.upload(handle)]) == [.failure(.forgotten)], "without the receipt")
    }

    @Test("a finished upload without an offset is finished")
    func noContent() async throws {
        let server = FakeTusServer { $0.finishedStatus = 204 }
        let content = try content(size: 1000)
        let handle = try await register(content, server)
        _ = try await server.remote.send(content.fragment(0, id: handle))
        guard case .success(.confirmed) = await server.remote.finish([content.upload(handle)])[0] else {
            throw RemoteConformance.Unexpected("not confirmed")
        }
        #expect(try await server.remote.resume(content.upload(handle)) == .offset(1000))
    }

    @Test(
        "a success without an offset proves nothing, unless a tus server says 204",
        arguments: [
            (200, [:]), (204, [:]), (200, ["Content-Type": "text/html"]), (200, ["Tus-Resumable": "1.0.0"]),
            (204, ["Upload-Offset": "x"]),
        ] as [(Int, [String: String])])
    func noOffset(status: Int, fields: [String: String]) async throws {
        let server = FakeTusServer()
        let content = try content(size: 1000)
        let handle = try await register(content, server)
        let upload = content.upload(handle)
        for _ in 0..<3 { server.plan("HEAD", status, fields) }
        let failures = [
            await failure({ () throws(RemoteFailure) in _ = try await server.remote.resume(upload) }),
            await failure({ () throws(RemoteFailure) in _ = try await server.remote.finish([upload])[0].get() }),
            await failure({ () throws(RemoteFailure) in _ = try await server.remote.prove([upload])[0].get() }),
        ]
        #expect(failures.map(kind) == [.temporary, .temporary, .temporary])
    }

    @Test(
        "an upload of another length is not this one",
        arguments: [["Upload-Length": "7"], ["Upload-Offset": "99999999"]])
    func wrongSize(fields: [String: String]) async throws {
        let server = FakeTusServer()
        let content = try content()
        let handle = try await register(content, server)
        server.plan("HEAD", 200, ["Upload-Offset": "0"].merging(fields) { $1 })
        await #expect(throws: RemoteFailure.forgotten) { try await server.remote.resume(content.upload(handle)) }
    }

    @Test("a HEAD without an answer may wait behind another request of the upload")
    func slowHead() async throws {
        let server = FakeTusServer()
        let content = try content()
        let handle = try await register(content, server)
        server.plan("HEAD", .failure(.replyTimeout("late")))
        let upload = content.upload(handle)
        guard
            case .temporary(_, _, .silent) = await failure({ () throws(RemoteFailure) in
                _ = try await server.remote.resume(upload)
            })
        else { throw RemoteConformance.Unexpected("no failure of the upload") }
    }

    // MARK: Removal

    @Test("nothing is removed from a server that offers no termination")
    func noTermination() async throws {
        let server = FakeTusServer { $0.offer["Tus-Extension"] = "creation" }
        let handle = try await register(content(), server)
        try await server.remote.remove([handle])
        #expect(server.requests("DELETE").isEmpty)
    }

    @Test("a refused removal is given up, a locked upload is removed later")
    func refusedRemoval() async throws {
        let server = FakeTusServer()
        for status in [404, 410, 403] {
            server.plan("DELETE", status, ["Tus-Resumable": "1.0.0"])
            try await server.remote.remove([RemoteHandle(id: FakeTusServer.url + "1")])
        }
        for status in [405, 501, 400] {
            server.plan("DELETE", status)
            guard
                case .permanent = await failure({ () throws(RemoteFailure) in
                    try await server.remote.remove([RemoteHandle(id: FakeTusServer.url + "1")])
                })
            else { throw RemoteConformance.Unexpected("\(status)") }
        }
        server.plan("DELETE", 423)
        guard
            case .busyUpload = await failure({ () throws(RemoteFailure) in
                try await server.remote.remove([RemoteHandle(id: FakeTusServer.url + "1")])
            })
        else { throw RemoteConformance.Unexpected("423") }
    }

    @Test("a 403 of an unknown sender removes nothing; after several the upload is left to expire")
    func forbiddenRemoval() async throws {
        let server = FakeTusServer()
        let handle = try await register(content(), server)
        for _ in 0..<3 { server.plan("DELETE", 403) }
        for _ in 0..<2 {
            let refusal = await failure({ () throws(RemoteFailure) in try await server.remote.remove([handle]) })
            #expect(kind(refusal) == .busyUpload)
        }
        try await server.remote.remove([handle])
        #expect(server.openUploads == 1)
        server.plan("DELETE", 403, ["Content-Type": "text/html"])
        let page = await failure({ () throws(RemoteFailure) in try await server.remote.remove([handle]) })
        #expect(kind(page) == .lasting)
    }
}
