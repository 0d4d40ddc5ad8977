import Remotes
import Synchronization
import Testing
import UploadCore

@Suite("RemoteConformance: S3 stores with quirks")
struct S3ConformanceTests {
    private func conformance(_ quirks: FakeS3Server.Quirks) -> RemoteConformance {
        RemoteConformance(server: FakeS3Server(quirks))
    }

    @Test(
        "a content is registered, sent in any order, and confirmed each time the remote asks",
        arguments: [
            .escapesTags, [.hidesTags, .forgetsCompletions], .ignoresConditions, .refusesConditions,
            .forgetsCompletions,
            .oddTags,
        ] as [FakeS3Server.Quirks])
    func upload(quirks: FakeS3Server.Quirks) async throws { try await conformance(quirks).uploadsAContent() }

    @Test("an existing content is reported as existing")
    func existing() async throws { try await conformance(.oddTags).saysThatItHasAContent() }

    @Test("a forgotten upload is reported as forgotten")
    func forgotten() async throws { try await conformance(.missesKeys).tellsThatAnIDWasForgotten() }

    @Test("every reply may be lost", arguments: [.forgetsCompletions, .ignoresConditions] as [FakeS3Server.Quirks])
    func lostReplies(quirks: FakeS3Server.Quirks) async throws { try await conformance(quirks).survivesLostReplies() }

    /// The requests of a large upload whose reply may be lost, and how many of the same kind come before.
    private static let requests = [
        ("HeadObject", 0), ("CreateMultipartUpload", 0), ("UploadPart", 0), ("UploadPart", 3), ("HeadObject", 1),
        ("CompleteMultipartUpload", 0), ("HeadObject", 2),
    ]

    @Test(
        "the reply to each request may be lost", arguments: requests,
        [[], .forgetsCompletions, .ignoresConditions, .oddTags] as [FakeS3Server.Quirks])
    func lostReply(request: (operation: String, after: Int), quirks: FakeS3Server.Quirks) async throws {
        let server = FakeS3Server(quirks)
        let conformance = RemoteConformance(server: server)
        let content = try conformance.content()
        server.change { $0.losing = request }
        let id = try await again { try await conformance.register(content) }
        var receipts: [Int: String] = [:]
        for index in 0..<content.plan.count {
            receipts[index] = try await again { try await server.s3.send(content.fragment(index, id: id)) }
        }
        let upload = content.upload(id, receipts: receipts)
        guard case .confirmed = try await again({ try await conformance.finish(upload) }) else {
            throw RemoteConformance.Unexpected("not confirmed")
        }
        #expect(server.state.value.withLock { $0.losing == nil }, "the request was made")
        #expect(server.holds(content) && server.objects.count == 1)
        // Nobody learned the id of the first upload.
        #expect(server.openUploads == (request.operation == "CreateMultipartUpload" ? 1 : 0))
    }

    /// Makes a call, and once more if its reply was lost.
    private func again<Value>(_ call: () async throws -> Value) async throws -> Value {
        do {
            return try await call()
        } catch let failure as RemoteFailure {
            guard case .temporary = failure else { throw failure }
            return try await call()
        }
    }

    @Test("a wrong clock costs one request", arguments: [-4000, 4000] as [Int64])
    func skew(ahead: Int64) async throws {
        let server = FakeS3Server()
        server.change { $0.ahead = ahead }
        let conformance = RemoteConformance(server: server)
        let description = try conformance.content().description
        try await conformance.expect(.temporary) { _ = try await conformance.remote.register([description])[0].get() }
        try await conformance.uploadsAContent()
    }
}
