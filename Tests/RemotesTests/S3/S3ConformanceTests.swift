import Remotes
import Testing

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
