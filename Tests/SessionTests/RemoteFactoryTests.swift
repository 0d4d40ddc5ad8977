import Remotes
import Session
import Testing
import Transport
import UploadCore

@testable import AgentConfiguration

@Suite("The factory of remotes")
struct RemoteFactoryTests {
    private struct NoTransport: HTTPTransport {
        func send(_ request: TransportRequest) async throws(TransportError) -> HTTPReply { throw .cancelled }
    }

    private struct NoToken: CredentialSource {
        func credential() async -> Credential? { nil }
    }

    @Test(
        "makes the remote of the configured server and what examines it, and neither for a protocol that is not built yet"
    )
    func protocols() throws {
        for kind in Configuration.RemoteProtocol.allCases {
            var configuration = Configuration.Remote()
            configuration.protocol = kind
            configuration.url = "https://host/base"
            let factory = RemoteFactory(configuration)
            let remote = factory.remote(account: "ann", transport: NoTransport(), credentials: NoToken())
            let examiner = factory.examiner(transport: NoTransport(), credentials: NoToken())
            #expect((remote != nil) == (factory.probe != nil || examiner != nil))
            guard let remote else { continue }
            #expect(remote.scope.protocolName == kind.rawValue)
            #expect(remote.scope.server == "https://host/base" && remote.scope.account == "ann")
            #expect(kind != .tus || remote.traits.inOrder)
            #expect(factory.probe?.question.url.hasPrefix("https://host/base/") != false)
        }
    }
}
