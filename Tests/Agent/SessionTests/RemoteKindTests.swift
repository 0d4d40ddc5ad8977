import Remotes
import Session
import Testing
import Transport
import UploadCore

@testable import AgentConfiguration

@Suite("The kinds of remotes")
struct RemoteKindTests {
    private struct NoTransport: HTTPTransport {
        func send(_ request: TransportRequest) async throws(TransportError) -> HTTPReply { throw .cancelled }
    }

    private struct NoToken: CredentialSource {
        func credential() async -> Credential? { nil }
    }

    @Test(
        "each protocol has a remote for the configured server, and either a probe or an examiner",
        arguments: Configuration.RemoteProtocol.allCases)
    func everyProtocol(_ name: Configuration.RemoteProtocol) throws {
        var settings = Configuration.Remote()
        settings.protocol = name
        settings.url = "https://host/base"
        settings.bucket = "photos"
        let kind = try #require(settings.kind)
        let remote = kind.remote(account: "ann", transport: NoTransport(), credentials: NoToken())
        #expect(remote.scope.protocolName == name.rawValue)
        #expect(remote.scope.server.contains("host/base") && remote.scope.account == "ann")
        let examiner = kind.examiner(transport: NoTransport(), credentials: NoToken())
        #expect((kind.probe == nil) != (examiner == nil))
        #expect(kind.probe?.question.url.hasPrefix("https://host/base/") != false)
    }

    @Test("settings that the configuration refuses make no remote")
    func refused() {
        var settings = Configuration.Remote()
        settings.protocol = .s3
        #expect(settings.kind == nil, "no bucket")
        settings.protocol = .tus
        settings.name = "{unknown}"
        #expect(settings.kind == nil)
    }
}
