import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("login and logout", .agents)
struct SessionTests {
    private static let nowhere = "http://127.0.0.1:1"

    private func write(_ text: String, _ name: String, for agent: Agent) throws -> String {
        let path = agent.directory.path(name)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    private func mode(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o777 : nil
    }

    @Test("login without an agent stores the token with mode 0600, and the next agent uses it")
    func offline() async throws {
        let server = try FaultServer(token: "sesame")
        let agent = try Agent(remote: server.url)
        let file = try write("sesame\n", "given", for: agent)

        let output = try await agent.command("login", "--user", "anna", "--token-file", file)
        #expect(output.code == 0, "\(output)")
        #expect(!(output.standardOutput + output.standardError).contains("sesame"))
        #expect(mode("\(agent.state)/token") == 0o600)
        #expect(mode("\(agent.state)/user") == 0o600)

        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .done)
    }

    @Test("login with a running agent resumes signed-out uploads, and logout stops new ones")
    func online() async throws {
        let server = try FaultServer(token: "sesame")
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .signedOut)
        let file = try write("sesame\n", "given", for: agent)

        let login = try await agent.command("login", "--token-file", file)
        #expect(login.code == 0, "\(login)")
        try await agent.reached("a.jpg", .done)

        let logout = try await agent.command("logout")
        #expect(logout.code == 0, "\(logout)")
        #expect(mode("\(agent.state)/token") == nil)
        try agent.drop("b.jpg", .jpeg, size: 3000)
        try await agent.reached("b.jpg", .signedOut)
    }

    @Test("logout without an agent removes token and user, and a second logout is no error")
    func offlineLogout() async throws {
        let agent = try Agent(remote: Self.nowhere)
        let file = try write("sesame\n", "given", for: agent)
        #expect(try await agent.command("login", "--user", "anna", "--token-file", file).code == 0)
        #expect(try await agent.command("logout").code == 0)
        #expect(mode("\(agent.state)/token") == nil)
        #expect(mode("\(agent.state)/user") == nil)
        #expect(try await agent.command("logout").code == 0)
    }

    @Test("an invalid token exits with 77 and keeps the stored one", arguments: ["", "two words\n", "two\nlines\n"])
    func refused(text: String) async throws {
        let agent = try Agent(remote: Self.nowhere)
        #expect(try await agent.command("login", "--token-file", write("good", "given", for: agent)).code == 0)
        let output = try await agent.command("login", "--token-file", write(text, "given", for: agent))
        #expect(output.code == 77, "\(output)")
        #expect(try String(contentsOfFile: "\(agent.state)/token", encoding: .utf8) == "good\n")
    }

    @Test(
        "a blank name or control characters exit with 64, before any token is read", arguments: [" ", "an\nna"])
    func badName(user: String) async throws {
        let agent = try Agent(remote: Self.nowhere)
        let output = try await agent.command("login", "--user", user, "--token-file", "/nonexistent")
        #expect(output.code == 64, "\(output)")
        #expect(mode("\(agent.state)/user") == nil)
    }

    @Test("a missing token file exits with 66")
    func missing() async throws {
        let agent = try Agent(remote: Self.nowhere)
        #expect(try await agent.command("login", "--token-file", "/nonexistent").code == 66)
    }

    @Test("a token that would go over plain http to another machine is not stored")
    func plainHTTP() async throws {
        let agent = try Agent(remote: "http://upload.example.org")
        let output = try await agent.command("login", "--token-file", write("sesame", "given", for: agent))
        #expect(output.code == 78, "\(output)")
        #expect(mode("\(agent.state)/token") == nil)
    }

    @Test(
        "login reports whether the server refused the token, and stores it either way",
        arguments: [true, false])
    func verdict(isRunning: Bool) async throws {
        let server = try FaultServer(token: "right-token")
        let agent = try Agent(remote: server.url)
        if isRunning { try await agent.start() }
        let good = try await agent.command("login", "--token-file", write("right-token", "good", for: agent))
        #expect(good.code == 0 && good.standardOutput.contains("was not refused"), "\(good)")
        let bad = try await agent.command("login", "--token-file", write("wrong-token", "bad", for: agent))
        #expect(bad.code == 0 && bad.standardOutput.contains("is stored"), "\(bad)")
        #expect(bad.standardError.contains("refused the token") && bad.standardError.contains("(401)"), "\(bad)")
        #expect(bad.standardError.contains("server says 401"), "\(bad)")
        #expect(try String(contentsOfFile: "\(agent.state)/token", encoding: .utf8) == "wrong-token\n")
        let json = try await agent.command("login", "--json", "--token-file", agent.directory.path("bad"))
        #expect(json.standardOutput.contains("\"server\":\"refused\""), "\(json)")
    }

    @Test("login reports that the server gave no usable answer, after at most 5 s")
    func silentServer() async throws {
        let server = try FaultServer(faults: { _, _ in .hang })
        for (url, reason) in [(server.url, "no answer within 5 s"), (Self.nowhere, "no usable answer")] {
            let agent = try Agent(remote: url)
            let output = try await agent.command("login", "--token-file", write("sesame", "given", for: agent))
            #expect(output.code == 0 && output.standardOutput.contains("is stored"), "\(output)")
            #expect(output.standardError.contains("not known") && output.standardError.contains(reason), "\(output)")
        }
    }

    @Test("login reports that the token in token_file takes precedence")
    func precedence() async throws {
        let agent = try Agent(remote: Self.nowhere, ["remote.token_file": "other"])
        _ = try write("other\n", "other", for: agent)
        let output = try await agent.command("login", "--token-file", write("sesame", "given", for: agent))
        #expect(output.code == 0)
        #expect(output.standardError.contains("token_file"), "\(output)")
        let json = try await agent.command("login", "--json", "--token-file", write("sesame", "given", for: agent))
        #expect(json.standardOutput.contains("\"precedence\":\"token_file\""), "\(json)")
    }
}
