import Testing

@Suite("RemoteConformance: fileSection")
struct FileSectionConformanceTests {
    private func conformance() throws -> RemoteConformance {
        RemoteConformance(server: FakeSectionServer(knowing: [try TestContent(1, size: 3 * 512 * 1024 + 1234)]))
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
