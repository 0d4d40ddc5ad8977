import Remotes
import Testing
import UploadCore

/// The guarantees of `SourceRemote` that callers rely on, for every protocol.
struct SourceConformance {
    let server: any SourceConformanceServer

    private func commit(_ ids: [String], revision: Int = 1) -> SourceCommit {
        SourceCommit(
            sourceID: "00112233445566778899aabbccddeeff", revision: revision, title: "Sea", cover: ids.first,
            fileIDs: ids, createdAt: WallTime(milliseconds: 1_795_253_400_000))
    }

    private func finishedID(_ number: UInt64 = 1) async throws -> String {
        let remote = RemoteConformance(server: server)
        let content = try remote.content(number)
        let id = try await remote.register(content)
        _ = try await remote.finish(content.upload(id, receipts: try await remote.sendAll(content, id: id)))
        return id.name
    }

    // MARK: What must hold

    func committingTwiceIsHarmless() async throws {
        let commit = commit([try await finishedID()])
        let first = try await server.sources.commit(commit)
        #expect(try await server.sources.commit(commit) == first)
        #expect(server.posts == 1)
    }

    func aLostReplyIsAskedForAgain() async throws {
        let commit = commit([try await finishedID()])
        server.loseNextReply()
        let lost = await Result.catching { () throws(RemoteFailure) in try await server.sources.commit(commit) }
        guard case .failure(.temporary) = lost else {
            throw RemoteConformance.Unexpected("a lost reply is temporary")
        }
        _ = try await server.sources.commit(commit)
        #expect(server.posts == 1)
    }

    func anotherRevisionIsAnotherPost() async throws {
        let id = try await finishedID()
        let first = try await server.sources.commit(commit([id]))
        #expect(try await server.sources.commit(commit([id], revision: 2)) != first)
        #expect(server.posts == 2)
    }

    func tellsThatARevisionHasOtherFiles() async throws {
        let (first, other) = (try await finishedID(1), try await finishedID(2))
        _ = try await server.sources.commit(commit([first]))
        #expect(try await server.sources.commit(commit([other])) == .taken(latest: 1))
        #expect(server.posts == 1)
    }

    func tellsThatAFileWasForgotten() async throws {
        await #expect(throws: RemoteFailure.forgotten) { try await server.sources.commit(commit(["4711"])) }
        #expect(server.posts == 0)
    }
}
