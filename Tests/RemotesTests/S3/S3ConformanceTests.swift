import Remotes
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

    @Test("another run resumes an upload after a kill of the agent")
    func killedClient() async throws { try await conformance().resumesAfterAKillOfTheClient() }

    @Test("an upload goes on after a kill of the server")
    func killedServer() async throws { try await conformance().survivesAKillOfTheServer() }

    @Test("a forgotten upload begins anew")
    func anew() async throws { try await conformance().beginsAForgottenUploadAnew() }

    @Test("the replies to questions and removals may be lost as well")
    func otherLostReplies() async throws { try await conformance().survivesLostRepliesToOtherRequests() }

    @Test("refused credentials sign out, and cost no progress")
    func credentials() async throws { try await conformance().waitsForOtherCredentials() }

    @Test("an upload of a wrong size is not finished")
    func wrongSize() async throws { try await conformance().noticesAWrongSize() }

    @Test("a file that became shorter is not sent")
    func shorter() async throws { try await conformance().noticesAShorterFile() }

    @Test("a file of 5 GiB is sent beyond the limits of 32 bits")
    func large() async throws { try await conformance().takesALargeFile() }

    @Test("a confirmed content is proved while the server holds it")
    func proof() async throws { try await conformance().provesAContent() }

    @Test("every legal name is taken", arguments: RemoteConformance.oddNames)
    func names(name: [UInt8]) async throws { try await conformance().takesAnyName(name) }

    // Of `skip` this protocol knows nothing: parts are sent whole.
    @Test("a conflict concerns one upload; stores lock nothing, so that 423 is a refusal", arguments: [409, 423])
    func refusals(status: Int) async throws {
        try await conformance().answers(status, as: status == 409 ? .busyUpload : .permanent)
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
