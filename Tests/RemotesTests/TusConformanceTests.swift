import Testing
import UploadCore

@testable import Remotes

@Suite("RemoteConformance: tus")
struct TusConformanceTests {
    private func conformance() -> RemoteConformance { RemoteConformance(server: FakeTusServer(token: "first")) }

    @Test("a content is registered, sent in order, and confirmed each time the remote asks")
    func upload() async throws { try await conformance().uploadsAContent() }

    @Test("a fragment that the server has is refused, and harms nothing")
    func twice() async throws { try await conformance().sendsAFragmentTwice() }

    @Test("a removed upload is gone, and removing it again is no error")
    func remove() async throws { try await conformance().removesAnUpload() }

    @Test("a forgotten id is reported as forgotten")
    func forgotten() async throws { try await conformance().tellsThatAnIDWasForgotten() }

    @Test("every reply may be lost")
    func lostReplies() async throws { try await conformance().survivesLostReplies() }

    @Test("the rest of a fragment follows when the connection broke in its middle")
    func middle() async throws { try await conformance().continuesInTheMiddleOfAFragment() }

    @Test("the rest follows also if the server drops all that arrived of the broken request")
    func dropped() async throws {
        let server = FakeTusServer { $0.losesInterruptedBytes = true }
        try await RemoteConformance(server: server).continuesInTheMiddleOfAFragment()
    }

    @Test("wrong bytes never complete")
    func wrongBytes() async throws { try await conformance().neverCompletesWrongBytes() }

    @Test("a confirmed content is proved while the server holds it")
    func proof() async throws { try await conformance().provesAContent() }

    @Test("every legal name is taken", arguments: RemoteConformance.oddNames)
    func names(name: [UInt8]) async throws { try await conformance().takesAnyName(name) }

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

    // No clock skew: tus requests carry no time.
    @Test("a conflict, and a lock held by another request, concern one upload", arguments: [409, 423])
    func refusals(status: Int) async throws {
        try await conformance().answers(status, as: status == 423 ? .busyUpload : .outOfStep)
    }
}
