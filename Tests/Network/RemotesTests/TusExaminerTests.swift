import Testing
import Transport

@testable import Remotes

@Suite("The examination of a tus server")
struct TusExaminerTests {
    private func examine(_ server: FakeTusServer) async -> [RemoteExamination.Finding] {
        let authorizer = BearerAuthorizer(FixedToken(token: "secret"), url: FakeTusServer.url)
        return await TusExaminer(url: FakeTusServer.url, transport: server.network, authorizer: authorizer).examine()
            .findings
    }

    @Test("creates an upload and removes it, and names what the server offers")
    func creates() async {
        let server = FakeTusServer()
        let findings = await examine(server)
        #expect(findings.map(\.level) == [.ok, .ok])
        #expect(findings[0].message.contains("speaks tus 1.0.0 and offers creation, termination"))
        #expect(findings[1].isAboutCredentials && findings[1].message.contains("may create uploads"))
        #expect(server.openUploads == 0 && server.requests("POST").count == 1)
    }

    @Test("leaves nothing on a server that lets nobody remove uploads")
    func asks() async {
        let server = FakeTusServer { $0.offer["Tus-Extension"] = "creation" }
        #expect(await examine(server).map(\.level) == [.ok, .ok])
        #expect(server.requests("POST").isEmpty && server.requests("HEAD").count == 1)
    }

    @Test("says when the token is refused, and when no tus server is there")
    func failures() async {
        let refusing = FakeTusServer()
        refusing.plan("POST", 401)
        let refusal = await examine(refusing).last
        #expect(refusal?.level == .stop && refusal?.isAboutCredentials == true)
        let other = FakeTusServer { $0.offer = [:] }
        other.plan("HEAD", 405)
        #expect(await examine(other).last?.level == .stop)
        let silent = FakeTusServer()
        silent.plan("OPTIONS", .failure(.connect("refused")))
        let failure = await examine(silent)
        #expect(failure.count == 1 && failure.last?.message.contains("refused") == true)
    }

    @Test("says that a server lets nobody create uploads")
    func noCreation() async {
        let server = FakeTusServer { $0.offer["Tus-Extension"] = "checksum" }
        #expect(await examine(server).contains { $0.level == .stop && $0.message.contains("creation") })
    }
}
