import Testing
import UploadCore

@testable import Remotes

// What must hold when the agent, the server or the credentials fail.
extension RemoteConformance {
    /// The kinds of failure that the suite tells apart.
    enum FailureKind: String {
        case temporary, outOfStep, busyUpload, signedOut, forgotten, permanent, source, cancelled
    }

    static func kind(_ failure: RemoteFailure) -> FailureKind {
        switch failure {
        case .temporary: .temporary
        case .outOfStep: .outOfStep
        case .busyUpload: .busyUpload
        case .signedOut: .signedOut
        case .forgotten: .forgotten
        case .permanent: .permanent
        case .source: .source
        case .cancelled: .cancelled
        }
    }

    /// Checks that a call fails in a certain way.
    func expect(
        _ kind: FailureKind, sourceLocation: SourceLocation = #_sourceLocation, _ call: () async throws -> Void
    ) async throws {
        do {
            try await call()
            Issue.record("no failure, where \(kind) is expected", sourceLocation: sourceLocation)
        } catch let failure as RemoteFailure {
            #expect(Self.kind(failure) == kind, "\(failure)", sourceLocation: sourceLocation)
        }
    }

    /// Calls each request of an upload that has one fragment on the server.
    private func expectEachCall(
        _ kind: FailureKind, of content: TestContent, _ id: RemoteHandle,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let upload = content.upload(id)
        let other = try self.content(2)
        try await expect(kind, sourceLocation: sourceLocation) {
            _ = try await remote.register([other.description])[0].get()
        }
        try await expect(kind, sourceLocation: sourceLocation) {
            _ = try await remote.send(content.fragment(1, id: id))
        }
        try await expect(kind, sourceLocation: sourceLocation) { _ = try await remote.finish([upload])[0].get() }
        try await expect(kind, sourceLocation: sourceLocation) { try await remote.remove([id]) }
        if asks {
            try await expect(kind, sourceLocation: sourceLocation) { _ = try await remote.resume(upload) }
        }
    }

    /// Whether the protocol has a request that asks where an upload stands. The ledger alone knows that with fileSection.
    private var asks: Bool { remote.traits.asksBeforeResuming || remote.traits.asksAfterRestart }

    /// Sends what is missing and finishes the upload, with any remote.
    private func complete(
        _ content: TestContent, _ id: RemoteHandle, _ remote: any Remote, from point: ResumePoint,
        receipts: [Int: String]
    ) async throws {
        var receipts = receipts
        var offset: UInt64 = 0
        switch point {
        case .asRecorded, .unasked: offset = receipts.isEmpty ? 0 : content.plan.range(of: 0).upperBound
        case .offset(let bytes): offset = bytes
        case .fragments(let known): receipts = known
        }
        for index in order(content.plan.count) {
            let range = content.plan.range(of: index)
            if remote.traits.inOrder && range.upperBound <= offset || receipts[index] != nil { continue }
            let skip = remote.traits.inOrder ? UInt32(max(offset, range.lowerBound) - range.lowerBound) : 0
            receipts[index] = try await remote.send(content.fragment(index, id: id, skip: skip))
        }
        guard let result = await remote.finish([content.upload(id, receipts: receipts)]).first,
            case .confirmed = try result.get()
        else { throw Unexpected("not confirmed") }
        #expect(server.holds(content))
    }

    /// The agent was killed after one fragment: only the handle, and with fileSection and S3 the receipts, are recorded.
    func resumesAfterAKillOfTheClient() async throws {
        let content = try content()
        let id = try await register(content)
        let first = order(content.plan.count)[0]
        let receipt = try await remote.send(content.fragment(first, id: id))
        let another = server.anotherRun()
        let upload = content.upload(id, receipts: receipt.map { [first: $0] } ?? [:])
        let point = asks ? try await another.resume(upload) : .asRecorded
        switch point {
        case .asRecorded, .unasked: #expect(!asks)
        case .offset(let offset): #expect(offset == content.plan.range(of: 0).upperBound)
        case .fragments(let known): #expect(Array(known.keys) == [first])
        }
        try await complete(content, id, another, from: point, receipts: upload.receipts)
        #expect(server.openUploads == 0)
    }

    /// The server is killed in the middle of a fragment, does not answer, and comes back with what it had.
    func survivesAKillOfTheServer() async throws {
        let content = try content()
        let id = try await register(content)
        let indices = order(content.plan.count)
        let receipt = try await remote.send(content.fragment(indices[0], id: id))
        server.cutNextFragment(after: 100_000)
        try await expect(.temporary) { _ = try await remote.send(content.fragment(indices[1], id: id)) }
        server.setDown(true)
        try await expectEachCall(.temporary, of: content, id)
        server.setDown(false)
        let point = asks ? try await remote.resume(content.upload(id)) : .asRecorded
        try await complete(content, id, remote, from: point, receipts: receipt.map { [indices[0]: $0] } ?? [:])
        #expect(server.openUploads == 0)
    }

    /// The server forgets an upload; a new one of the same content takes its place.
    func beginsAForgottenUploadAnew() async throws {
        let content = try content()
        let id = try await register(content)
        _ = try await remote.send(content.fragment(order(content.plan.count)[0], id: id))
        server.forgetEverything()
        try await expect(.forgotten) { _ = try await remote.send(content.fragment(1, id: id)) }
        let new = try await register(content)
        #expect(new != id)
        let upload = content.upload(new, receipts: try await sendAll(content, id: new))
        guard case .confirmed = try await finish(upload) else { throw Unexpected("not confirmed") }
        #expect(server.holds(content) && server.openUploads == 0)
    }

    /// The replies to the requests besides those of a plain upload get lost: they may be asked again.
    func survivesLostRepliesToOtherRequests() async throws {
        let content = try content()
        let id = try await register(content)
        _ = try await remote.send(content.fragment(order(content.plan.count)[0], id: id))
        if asks {
            server.loseNextReply()
            try await expect(.temporary) { _ = try await remote.resume(content.upload(id)) }
            _ = try await remote.resume(content.upload(id))
        }
        server.loseNextReply()
        try await expect(.temporary) { try await remote.remove([id]) }
        try await remote.remove([id])
        #expect(server.openUploads == 0)

        let again = try await register(content)
        let upload = content.upload(again, receipts: try await sendAll(content, id: again))
        guard case .confirmed(let object) = try await finish(upload) else { throw Unexpected("not confirmed") }
        let known = content.upload(RemoteHandle(id: object.id ?? again.id))
        server.loseNextReply()
        try await expect(.temporary) { _ = try await remote.prove([known])[0].get() }
        guard case .success(.confirmed) = await remote.prove([known]).first else { throw Unexpected("no proof") }
    }

    /// No request gets anything but `signedOut`, and nothing that was sent is lost.
    func waitsForOtherCredentials() async throws {
        let content = try content()
        let id = try await register(content)
        let first = order(content.plan.count)[0]
        let receipt = try await remote.send(content.fragment(first, id: id))
        server.expireCredentials()
        try await expectEachCall(.signedOut, of: content, id)
        server.renewCredentials()
        let point = asks ? try await remote.resume(content.upload(id)) : .asRecorded
        try await complete(content, id, remote, from: point, receipts: receipt.map { [first: $0] } ?? [:])
    }

    /// The server has one byte less than was sent, as after a full disk: it must not count as finished.
    func noticesAWrongSize() async throws {
        let content = try content()
        let id = try await register(content)
        let receipts = try await sendAllButTheLastAnswer(content, id)
        server.dropLastByte()
        let result = await remote.finish([content.upload(id, receipts: receipts)]).first
        switch result {
        case .success(.failed), .failure(.outOfStep): break
        default: Issue.record("\(String(describing: result))")
        }
        #expect(!server.holds(content))
    }

    /// Sends all fragments. An in-order server confirms with its last answer, so that one is lost.
    private func sendAllButTheLastAnswer(_ content: TestContent, _ id: RemoteHandle) async throws -> [Int: String] {
        guard remote.traits.inOrder else { return try await sendAll(content, id: id) }
        for index in 0..<content.plan.count - 1 { _ = try await remote.send(content.fragment(index, id: id)) }
        server.loseNextReply()
        try await expect(.temporary) {
            _ = try await remote.send(content.fragment(content.plan.count - 1, id: id))
        }
        return [:]
    }

    /// The file became shorter after it was hashed.
    func noticesAShorterFile() async throws {
        let content = try content()
        let id = try await register(content)
        try content.truncate(to: Int(content.plan.range(of: 1).upperBound) - 1)
        if remote.traits.inOrder { _ = try await remote.send(content.fragment(0, id: id)) }
        try await expect(.source) { _ = try await remote.send(content.fragment(1, id: id)) }
        #expect(!server.holds(content))
    }

    /// A status to a request about one upload says nothing about other uploads.
    ///
    /// - Parameter kind: what the protocol makes of the status.
    func answers(_ status: Int, as kind: FailureKind) async throws {
        let content = try content()
        let id = try await register(content)
        let first = order(content.plan.count)[0]
        server.answerNext(status)
        try await expect(kind) { _ = try await remote.send(content.fragment(first, id: id)) }
        // The server is as it was.
        let upload = content.upload(id, receipts: try await sendAll(content, id: id))
        guard case .confirmed = try await finish(upload) else { throw Unexpected("not confirmed") }
    }

    /// Fragments of a file of 5 GiB around the limit of 32 bits, and its last one.
    func takesALargeFile() async throws {
        let content = try SparseContent(5 << 30 + 1234, remote.traits)
        guard case .success(.registered(let id, _)) = await remote.register([content.description]).first else {
            throw Unexpected("no id")
        }
        let plan = content.plan
        let fragmentSize = UInt64(plan.fragmentSize)
        let middle = Int((4 << 30) / fragmentSize)
        for index in [middle - 1, middle, plan.count - 1] {
            let range = plan.range(of: index)
            // An in-order server has all before the last block.
            let skip = remote.traits.inOrder ? UInt32(range.count - min(range.count, 1 << 20)) : 0
            if remote.traits.inOrder {
                let offset = range.lowerBound + UInt64(skip)
                server.pretendToHave(offset)
                #expect(try await remote.resume(content.upload(id)) == .offset(offset))
            }
            _ = try await remote.send(content.fragment(index, id: id, skip: skip))
            #expect(server.arrived(index) == range.count - Int(skip), "fragment \(index) of \(plan.count)")
        }
    }
}
