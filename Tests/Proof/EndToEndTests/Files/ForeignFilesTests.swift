import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

/// Files of another user in places that a command reads: a configuration in the working directory, a program on the
/// control socket.
@Suite("Files of other users", .agents, .enabled(if: getuid() == 0, "needs root to give files away"))
struct ForeignFilesTests {
    private static let stranger: UInt32 = 65534

    @Test(
        "a configuration of another user in the working directory gets no token",
        arguments: ["doctor", "status", "run"])
    func configuration(command: String) async throws {
        let server = try ScriptedServer(handler: { _ in .json("{}") })
        let directory = try TemporaryDirectory(prefix: "outbox-e2e")
        let file = directory.path("agent.toml")
        try "outbox = \"o\"\nstate = \"s\"\n\n[remote]\nurl = \"\(server.url)\"\n".write(
            toFile: file, atomically: true, encoding: .utf8)
        #expect(chown(file, Self.stranger, Self.stranger) == 0)

        let output = try await Program.run(
            "outbox", [command],
            environment: ["PATH": "/usr/bin:/bin", "HOME": directory.path, "OUTBOX_TOKEN": "secret"],
            directory: directory.path)

        #expect(output.code == 78)
        #expect(output.standardError.hasPrefix("outbox: agent.toml: belongs to "), "\(output.standardError)")
        #expect(output.standardError.contains("--config agent.toml"))
        #expect(server.requests.isEmpty)
    }

    @Test("another user's program on the control socket gets no data, not even the token from login")
    func socket() async throws {
        let agent = try Agent(remote: "http://127.0.0.1:1", ["control.socket": "taken.sock"])
        let listener = try Program(
            "/usr/bin/perl", ["-MSocket", "-e", Self.listener, agent.directory.path("taken.sock"), "\(Self.stranger)"],
            environment: [:], directory: agent.directory.path, outputPrefix: agent.directory.path("listener"))
        try await Poll.until("the listener", lastState: { listener.errorTail() }) {
            listener.standardOutput.contains("listening")
        }
        let token = agent.directory.path("token")
        try Files.write(Array("topsecret\n".utf8), to: token)

        for arguments in [["status"], ["login", "--token-file", token]] {
            let output = try await Program.run(
                "outbox", arguments + ["--config", agent.config], environment: agent.environment,
                directory: agent.directory.path)
            #expect(output.code == 77, "\(output)")
            #expect(output.standardError.contains("nothing was sent to it"), "\(output.standardError)")
        }
        try await Poll.until("both connections to have ended", lastState: { listener.standardOutput }) {
            listener.standardOutput.split(separator: "\n").count { $0 == "end" } == 2
        }
        #expect(!listener.standardOutput.contains("got"), "\(listener.standardOutput)")
    }

    /// Listens as another user, and prints all received bytes.
    private static let listener = """
        $| = 1;
        socket(S, AF_UNIX, SOCK_STREAM, 0) or die; bind(S, pack_sockaddr_un($ARGV[0])) or die;
        chmod 0666, $ARGV[0]; $> = $ARGV[1]; listen(S, 5) or die; print "listening\\n";
        while (accept(C, S)) { while (sysread(C, $_, 65536)) { print "got $_\\n" } print "end\\n"; close C }
        """
}
