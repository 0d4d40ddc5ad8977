import Testing
import UploadCore

@testable import Remotes

@Suite("RemoteConformance: tus")
struct TusConformanceTests {
    private let server = FakeTusServer()
    private var conformance: RemoteConformance { RemoteConformance(server: server) }

    @Test("a content is registered, sent in order, and confirmed each time the remote asks")
    func upload() async throws { try await conformance.uploadsAContent() }

    @Test("a removed upload is gone, and removing it again is no error")
    func remove() async throws { try await conformance.removesAnUpload() }

    @Test("a forgotten id is reported as forgotten")
    func forgotten() async throws { try await conformance.tellsThatAnIDWasForgotten() }

    @Test("every reply may be lost")
    func lostReplies() async throws { try await conformance.survivesLostReplies() }

    @Test("the rest of a fragment follows when the connection broke in its middle")
    func middle() async throws { try await conformance.continuesInTheMiddleOfAFragment() }

    @Test("the rest follows also if the server drops all that arrived of the broken request")
    func dropped() async throws {
        let server = FakeTusServer { $0.losesInterruptedBytes = true }
        try await RemoteConformance(server: server).continuesInTheMiddleOfAFragment()
    }

    @Test("wrong bytes never complete")
    func wrongBytes() async throws { try await conformance.neverCompletesWrongBytes() }

    @Test("a confirmed content is proved while the server holds it")
    func proof() async throws { try await conformance.provesAContent() }

    @Test("every legal name is taken", arguments: RemoteConformance.oddNames)
    func names(name: [UInt8]) async throws { try await conformance.takesAnyName(name) }
}
