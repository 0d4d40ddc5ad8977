import Remotes
import Testing
import UploadCore

/// A server for the conformance suite of remotes, and the controls that the suite needs.
protocol ConformanceServer: Sendable {
    /// A remote that talks to this server.
    var remote: any Remote { get }
    /// Makes the server process the next request and lose the reply.
    func loseNextReply()
    /// Makes the connection break after this many bytes of the next fragment. An in-order server keeps them, or fewer.
    func cutNextFragment(after bytes: Int)
    /// Makes the server forget every unfinished upload.
    func forgetEverything()
    /// Makes the server unreachable: it was killed. After a restart it has all uploads that it had before.
    func setDown(_ isDown: Bool)
    /// Makes the server refuse the credentials that the remote has.
    func expireCredentials()
    /// Gives the remote credentials that the server accepts.
    func renewCredentials()
    /// Makes the server lose the last byte of what it has of every unfinished upload.
    func dropLastByte()
    /// Answers the next request with this status.
    func answerNext(_ status: Int)
    /// The remote of another run of the agent, with nothing in memory.
    func anotherRun() -> any Remote
    /// Makes an in-order server say that it has so many bytes of an unfinished upload.
    func pretendToHave(_ bytes: UInt64)
    /// How many bytes of a fragment arrived, in an unfinished upload; with an in-order server, of the last request.
    func arrived(_ index: Int) -> Int?
    /// Whether the server has the whole content, byte by byte.
    func holds(_ content: TestContent) -> Bool
    /// Number of unfinished uploads on the server.
    var openUploads: Int { get }
}

/// A server that makes posts of uploaded files.
protocol SourceConformanceServer: ConformanceServer {
    /// The same remote, as a ``SourceRemote``.
    var sources: any SourceRemote { get }
    /// Number of posts on the server.
    var posts: Int { get }
}

/// The guarantees of `Remote` that callers rely on, for every protocol.
struct RemoteConformance {
    let server: any ConformanceServer
    var remote: any Remote { server.remote }

    /// A content a little longer than three fragments, cut by the plan of the protocol.
    func content(_ number: UInt64 = 1) throws -> TestContent {
        let size = UInt64(remote.traits.fragmentSize) * 3 + 1234
        return try TestContent(number, size: Int(size), fragmentSize: remote.traits.plan(for: size).fragmentSize)
    }

    func register(_ content: TestContent) async throws -> RemoteHandle {
        guard let result = await remote.register([content.description]).first,
            case .registered(let id, _) = try result.get()
        else { throw Unexpected("no id") }
        return id
    }

    /// The order in which to send fragments: ascending if the protocol requires it, else descending.
    func order(_ count: Int) -> [Int] { remote.traits.inOrder ? Array(0..<count) : (0..<count).reversed() }

    func sendAll(_ content: TestContent, id: RemoteHandle) async throws -> [Int: String] {
        var receipts: [Int: String] = [:]
        for index in order(content.plan.count) {
            receipts[index] = try await remote.send(content.fragment(index, id: id))
        }
        return receipts
    }

    /// Asks up to 100 times, until the server has assembled or refused the upload.
    func finish(_ upload: RemoteUpload) async throws -> FinishOutcome {
        for _ in 0..<100 {
            guard let result = await remote.finish([upload]).first else { throw Unexpected("no answer") }
            let outcome = try result.get()
            if outcome != .assembling { return outcome }
        }
        throw Unexpected("assembling for ever")
    }

    struct Unexpected: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    // MARK: What must hold

    func uploadsAContent() async throws {
        let content = try content()
        let id = try await register(content)
        let upload = content.upload(id, receipts: try await sendAll(content, id: id))
        guard case .confirmed = try await finish(upload) else { throw Unexpected("not confirmed") }
        #expect(server.holds(content))
        guard case .confirmed = try await finish(upload) else { throw Unexpected("another answer the second time") }
    }

    /// A fragment that the server has is harmless, or an in-order server refuses it and keeps its offset.
    func sendsAFragmentTwice() async throws {
        let content = try content()
        let id = try await register(content)
        var receipts: [Int: String] = [:]
        for index in order(content.plan.count) {
            receipts[index] = try await remote.send(content.fragment(index, id: id))
            guard index == 1 else { continue }
            if remote.traits.inOrder {
                try await expect(.outOfStep) { _ = try await remote.send(content.fragment(0, id: id)) }
                let end = content.plan.range(of: 1).upperBound
                #expect(try await remote.resume(content.upload(id)) == .offset(end))
            } else {
                receipts[1] = try await remote.send(content.fragment(1, id: id))
            }
        }
        guard case .confirmed = try await finish(content.upload(id, receipts: receipts)) else {
            throw Unexpected("not confirmed")
        }
        #expect(server.holds(content))
    }

    func saysThatItHasAContent() async throws {
        try await uploadsAContent()
        let result = await remote.register([try content().description]).first
        guard case .success(.existing) = result else { throw Unexpected("\(String(describing: result))") }
    }

    func removesAnUpload() async throws {
        let content = try content()
        let id = try await register(content)
        _ = try await remote.send(content.fragment(0, id: id))
        try await remote.remove([id])
        #expect(server.openUploads == 0)
        try await remote.remove([id])
        await #expect(throws: RemoteFailure.forgotten) { try await remote.send(content.fragment(1, id: id)) }
    }

    func tellsThatAnIDWasForgotten() async throws {
        let content = try content()
        let id = try await register(content)
        server.forgetEverything()
        await #expect(throws: RemoteFailure.forgotten) { try await remote.send(content.fragment(0, id: id)) }
        #expect(await remote.finish([content.upload(id)]) == [.failure(.forgotten)])
        if remote.traits.asksBeforeResuming {
            await #expect(throws: RemoteFailure.forgotten) { try await remote.resume(content.upload(id)) }
        }
    }

    func survivesLostReplies() async throws {
        let content = try content()
        server.loseNextReply()
        guard case .failure(.temporary) = await remote.register([content.description]).first else {
            throw Unexpected("a lost reply is temporary")
        }
        let id = try await register(content)
        var receipts: [Int: String] = [:]
        for index in order(content.plan.count) {
            server.loseNextReply()
            await #expect(throws: RemoteFailure.self) { try await remote.send(content.fragment(index, id: id)) }
            if remote.traits.inOrder {
                let point = try await remote.resume(content.upload(id))
                #expect(point == .offset(content.plan.range(of: index).upperBound))
            } else {
                receipts[index] = try await remote.send(content.fragment(index, id: id))
            }
        }
        let upload = content.upload(id, receipts: receipts)
        server.loseNextReply()
        guard case .failure(.temporary) = await remote.finish([upload]).first else {
            throw Unexpected("a lost reply is temporary")
        }
        guard case .confirmed = try await finish(upload) else { throw Unexpected("not confirmed") }
        #expect(server.holds(content))
    }

    /// The connection breaks in the middle of a fragment. An in-order server keeps the part, and the rest follows.
    func continuesInTheMiddleOfAFragment() async throws {
        let content = try content()
        let id = try await register(content)
        var receipts: [Int: String] = [:]
        for index in order(content.plan.count) {
            var skip: UInt32 = 0
            if index == 1 {
                server.cutNextFragment(after: 100_000)
                await #expect(throws: RemoteFailure.self) { try await remote.send(content.fragment(1, id: id)) }
                if remote.traits.inOrder { skip = try await partOfFragment(1, content, id) }
            }
            receipts[index] = try await remote.send(content.fragment(index, id: id, skip: skip))
        }
        guard case .confirmed = try await finish(content.upload(id, receipts: receipts)) else {
            throw Unexpected("not confirmed")
        }
        #expect(server.holds(content))
    }

    /// Returns how many bytes of a fragment the server has. Checks that the server refuses to take these again.
    private func partOfFragment(_ index: Int, _ content: TestContent, _ id: RemoteHandle) async throws -> UInt32 {
        let range = content.plan.range(of: index)
        guard case .offset(let offset) = try await remote.resume(content.upload(id)), range.contains(offset) else {
            throw Unexpected("no offset within the fragment")
        }
        let skip = UInt32(offset - range.lowerBound)
        if skip == 0 { return 0 }
        guard case .failure(.outOfStep) = await remote.finish([content.upload(id)]).first else {
            throw Unexpected("an incomplete upload is out of step")
        }
        let again = try content.fragment(index, id: id)
        do throws(RemoteFailure) {
            _ = try await remote.send(again)
            throw .cancelled
        } catch {
            guard case .outOfStep = error else { throw Unexpected("the start of a fragment again: \(error)") }
        }
        return skip
    }

    func neverCompletesWrongBytes() async throws {
        let content = try content()
        let id = try await register(content)
        try content.flip(at: Int(content.plan.range(of: 1).upperBound) - 1)
        var receipts: [Int: String] = [:]
        for index in order(content.plan.count) where index != 1 {
            if remote.traits.inOrder && index > 1 { break }
            receipts[index] = try await remote.send(content.fragment(index, id: id))
        }
        await #expect(throws: RemoteFailure.source(SourceProblem(path: content.path, kind: .changed))) {
            try await remote.send(content.fragment(1, id: id))
        }
        if case .success(.confirmed) = await remote.finish([content.upload(id, receipts: receipts)]).first {
            throw Unexpected("confirmed without its bytes")
        }
        #expect(!server.holds(content))
    }
}
