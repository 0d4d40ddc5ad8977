import Testing

@Suite("RemoteConformance: S3")
struct S3ConformanceTests {
    private func conformance(_ quirks: FakeS3Server.Quirks = []) -> RemoteConformance {
        RemoteConformance(server: FakeS3Server(quirks))
    }

    @Test(
        "a content is registered, sent in any order, and confirmed each time the remote asks, whatever the server's quirks",
        arguments: [
            [], .escapesTags, [.hidesTags, .forgetsCompletions], .ignoresConditions, .refusesConditions,
            .forgetsCompletions,
            .oddTags,
        ] as [FakeS3Server.Quirks])
    func upload(quirks: FakeS3Server.Quirks) async throws { try await conformance(quirks).uploadsAContent() }

    @Test("sending a part twice is harmless")
    func twice() async throws { try await conformance().sendsAFragmentTwice() }

    @Test("an existing content is reported as existing", arguments: [[], .oddTags] as [FakeS3Server.Quirks])
    func existing(quirks: FakeS3Server.Quirks) async throws { try await conformance(quirks).saysThatItHasAContent() }

    @Test("a removed upload is gone, and removing it again is no error")
    func remove() async throws { try await conformance().removesAnUpload() }

    @Test("a forgotten upload is reported as forgotten", arguments: [[], .missesKeys] as [FakeS3Server.Quirks])
    func forgotten(quirks: FakeS3Server.Quirks) async throws {
        try await conformance(quirks).tellsThatAnIDWasForgotten()
    }

    @Test("every reply may be lost", arguments: [[], .forgetsCompletions, .ignoresConditions] as [FakeS3Server.Quirks])
    func lostReplies(quirks: FakeS3Server.Quirks) async throws { try await conformance(quirks).survivesLostReplies() }

    @Test("a part that the connection cut off is sent again")
    func middle() async throws { try await conformance().continuesInTheMiddleOfAFragment() }

    @Test("wrong bytes never complete")
    func wrongBytes() async throws { try await conformance().neverCompletesWrongBytes() }
}

@Suite("SourceConformance: S3")
struct S3SourceConformanceTests {
    private func conformance() -> SourceConformance { SourceConformance(server: FakeS3Server()) }

    @Test("committing twice is harmless and answers the same")
    func twice() async throws { try await conformance().committingTwiceIsHarmless() }

    @Test("a commit whose reply was lost is sent again and makes one post")
    func lostReply() async throws { try await conformance().aLostReplyIsAskedForAgain() }

    @Test("another revision is another post")
    func revision() async throws { try await conformance().anotherRevisionIsAnotherPost() }
}
