import Remotes
import Testing

@Suite("RemoteConformance: fileSection")
struct FileSectionConformanceTests {
    private func conformance() throws -> RemoteConformance {
        RemoteConformance(server: FakeSectionServer(knowing: [try TestContent(1, size: 3 * 512 * 1024 + 1234)]))
    }

    @Test("a content is registered, sent in any order and confirmed, however often it is asked about")
    func upload() async throws { try await conformance().uploadsAContent() }

    @Test("sending a fragment twice is harmless")
    func twice() async throws { try await conformance().sendsAFragmentTwice() }

    @Test("what is there already is said to be")
    func existing() async throws { try await conformance().saysThatItHasAContent() }

    @Test("what was removed is gone, and removing it again is no error")
    func remove() async throws { try await conformance().removesAnUpload() }

    @Test("an id that was forgotten is told as such")
    func forgotten() async throws { try await conformance().tellsThatAnIDWasForgotten() }

    @Test("every reply may be lost")
    func lostReplies() async throws { try await conformance().survivesLostReplies() }

    @Test("wrong bytes never complete")
    func wrongBytes() async throws { try await conformance().neverCompletesWrongBytes() }
}
