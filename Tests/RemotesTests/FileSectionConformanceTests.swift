import Testing

@Suite("RemoteConformance: fileSection")
struct FileSectionConformanceTests {
    private func conformance() throws -> RemoteConformance {
        let contents = try (1...2).map { try TestContent($0, size: 3 * 512 * 1024 + 1234) }
        return RemoteConformance(server: FakeSectionServer(knowing: contents))
    }

    @Test("a content is registered, sent in any order, and confirmed each time the remote asks")
    func upload() async throws { try await conformance().uploadsAContent() }

    @Test("sending a fragment twice is harmless")
    func twice() async throws { try await conformance().sendsAFragmentTwice() }

    @Test("an existing content is reported as existing")
    func existing() async throws { try await conformance().saysThatItHasAContent() }

    @Test("a removed upload is gone, and removing it again is no error")
    func remove() async throws { try await conformance().removesAnUpload() }

    @Test("a forgotten id is reported as forgotten")
    func forgotten() async throws { try await conformance().tellsThatAnIDWasForgotten() }

    @Test("every reply may be lost")
    func lostReplies() async throws { try await conformance().survivesLostReplies() }

    @Test("a fragment that the connection cut off is sent again")
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

    // Contract 4: any other 4xx is a refusal for good. Of `skip` and clock skew this protocol knows nothing: fragments are
    // sent whole, and no request carries a time that the server compares.
    @Test("a refusal concerns one upload", arguments: [409, 423])
    func refusals(status: Int) async throws { try await conformance().answers(status, as: .permanent) }
}

@Suite("SourceConformance: fileSection")
struct FileSectionSourceConformanceTests {
    private func conformance() throws -> SourceConformance {
        SourceConformance(server: FakeSectionServer(knowing: [try TestContent(1, size: 3 * 512 * 1024 + 1234)]))
    }

    @Test("committing twice is harmless and answers the same")
    func twice() async throws { try await conformance().committingTwiceIsHarmless() }

    @Test("a commit whose reply was lost is sent again and makes one post")
    func lostReply() async throws { try await conformance().aLostReplyIsAskedForAgain() }

    @Test("another revision is another post")
    func revision() async throws { try await conformance().anotherRevisionIsAnotherPost() }

    @Test("a commit of an unknown file is reported as such")
    func forgotten() async throws { try await conformance().tellsThatAFileWasForgotten() }
}
