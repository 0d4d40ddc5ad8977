import Testing

/// The protocols, each with a server that plays along.
enum ConformingProtocol: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case fileSection, s3, tus

    /// Those that make posts of files.
    static let withPosts = [fileSection, s3]

    var testDescription: String { rawValue }

    func conformance() throws -> RemoteConformance {
        switch self {
        case .fileSection: RemoteConformance(server: try Self.sectionServer())
        case .s3: RemoteConformance(server: FakeS3Server())
        case .tus: RemoteConformance(server: FakeTusServer(token: "first"))
        }
    }

    func sourceConformance() throws -> SourceConformance {
        self == .s3
            ? SourceConformance(server: FakeS3Server()) : SourceConformance(server: try Self.sectionServer())
    }

    private static func sectionServer() throws -> FakeSectionServer {
        let contents = try (1...2).map { try TestContent($0, size: 3 * 512 * 1024 + 1234) }
        return FakeSectionServer(knowing: contents)
    }
}

@Suite("RemoteConformance")
struct RemoteConformanceTests {
    typealias Kind = ConformingProtocol

    @Test("a content is registered, sent, and confirmed each time the remote asks", arguments: Kind.allCases)
    func upload(kind: Kind) async throws { try await kind.conformance().uploadsAContent() }

    @Test("sending a fragment twice is harmless, or refused", arguments: Kind.allCases)
    func twice(kind: Kind) async throws { try await kind.conformance().sendsAFragmentTwice() }

    // tus recognises no contents.
    @Test("an existing content is reported as existing", arguments: [Kind.fileSection, .s3])
    func existing(kind: Kind) async throws { try await kind.conformance().saysThatItHasAContent() }

    @Test("a removed upload is gone, and removing it again is no error", arguments: Kind.allCases)
    func remove(kind: Kind) async throws { try await kind.conformance().removesAnUpload() }

    @Test("a forgotten upload is reported as forgotten", arguments: Kind.allCases)
    func forgotten(kind: Kind) async throws { try await kind.conformance().tellsThatAnIDWasForgotten() }

    @Test("every reply may be lost", arguments: Kind.allCases)
    func lostReplies(kind: Kind) async throws { try await kind.conformance().survivesLostReplies() }

    @Test("a fragment that the connection cut off is completed, or sent again", arguments: Kind.allCases)
    func middle(kind: Kind) async throws { try await kind.conformance().continuesInTheMiddleOfAFragment() }

    @Test("wrong bytes never complete", arguments: Kind.allCases)
    func wrongBytes(kind: Kind) async throws { try await kind.conformance().neverCompletesWrongBytes() }

    @Test("another run resumes an upload after a kill of the agent", arguments: Kind.allCases)
    func killedClient(kind: Kind) async throws { try await kind.conformance().resumesAfterAKillOfTheClient() }

    @Test("an upload goes on after a kill of the server", arguments: Kind.allCases)
    func killedServer(kind: Kind) async throws { try await kind.conformance().survivesAKillOfTheServer() }

    @Test("a forgotten upload begins anew", arguments: Kind.allCases)
    func anew(kind: Kind) async throws { try await kind.conformance().beginsAForgottenUploadAnew() }

    @Test("the replies to questions and removals may be lost as well", arguments: Kind.allCases)
    func otherLostReplies(kind: Kind) async throws {
        try await kind.conformance().survivesLostRepliesToOtherRequests()
    }

    @Test("refused credentials sign out, and cost no progress", arguments: Kind.allCases)
    func credentials(kind: Kind) async throws { try await kind.conformance().waitsForOtherCredentials() }

    @Test("an upload of a wrong size is not finished", arguments: Kind.allCases)
    func wrongSize(kind: Kind) async throws { try await kind.conformance().noticesAWrongSize() }

    @Test("a file that became shorter is not sent", arguments: Kind.allCases)
    func shorter(kind: Kind) async throws { try await kind.conformance().noticesAShorterFile() }

    @Test("a file of 5 GiB is sent beyond the limits of 32 bits", arguments: Kind.allCases)
    func large(kind: Kind) async throws { try await kind.conformance().takesALargeFile() }

    @Test("a confirmed content is proved while the server holds it", arguments: Kind.allCases)
    func proof(kind: Kind) async throws { try await kind.conformance().provesAContent() }

    @Test("every legal name is taken", arguments: Kind.allCases, RemoteConformance.oddNames)
    func names(kind: Kind, name: [UInt8]) async throws { try await kind.conformance().takesAnyName(name) }

    // fileSection, contract 4: any other 4xx is a refusal for good. S3 stores lock nothing.
    @Test(
        "a conflict and a lock concern one upload",
        arguments: [
            (Kind.fileSection, 409, .permanent), (.fileSection, 423, .permanent), (.s3, 409, .busyUpload),
            (.s3, 423, .permanent), (.tus, 409, .outOfStep), (.tus, 423, .busyUpload),
        ] as [(Kind, Int, RemoteConformance.FailureKind)])
    func refusals(kind: Kind, status: Int, failure: RemoteConformance.FailureKind) async throws {
        try await kind.conformance().answers(status, as: failure)
    }
}

@Suite("SourceConformance")
struct SourceConformanceTests {
    typealias Kind = ConformingProtocol

    @Test("committing twice is harmless and answers the same", arguments: Kind.withPosts)
    func twice(kind: Kind) async throws { try await kind.sourceConformance().committingTwiceIsHarmless() }

    @Test("a commit whose reply was lost is sent again and makes one post", arguments: Kind.withPosts)
    func lostReply(kind: Kind) async throws { try await kind.sourceConformance().aLostReplyIsAskedForAgain() }

    @Test("another revision is another post", arguments: Kind.withPosts)
    func revision(kind: Kind) async throws { try await kind.sourceConformance().anotherRevisionIsAnotherPost() }

    @Test("a revision with other files than the server's is said to be taken", arguments: Kind.withPosts)
    func taken(kind: Kind) async throws { try await kind.sourceConformance().tellsThatARevisionHasOtherFiles() }

    // A manifest on S3 names objects, and nobody checks them.
    @Test("a commit of an unknown file is reported as such")
    func forgotten() async throws { try await Kind.fileSection.sourceConformance().tellsThatAFileWasForgotten() }
}
