import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("The command line", .agents)
struct CommandLineTests {
    private static let nowhere = "http://127.0.0.1:1"

    @Test(
        "wrong usage exits with 64 and one line that names the command's help",
        arguments: [
            (["--nonsense"], "outbox: unknown option '--nonsense'; see `outbox --help`"),
            (["no-such-command"], "outbox: unknown command 'no-such-command'; see `outbox --help`"),
            (["statsu", "--json"], "outbox: unknown command 'statsu'. Did you mean 'status'? See `outbox --help`"),
            (
                ["config", "chekc"],
                "outbox: config: unknown command 'chekc'. Did you mean 'check'? See `outbox config --help`"
            ),
            (["run", "--nonsense"], "outbox: run: unknown option '--nonsense'; see `outbox run --help`"),
            (
                ["status", "--jsno"],
                "outbox: status: unknown option '--jsno'. Did you mean '--json'? See `outbox status --help`"
            ),
            (
                ["wait", "--timeout", "soon"],
                "outbox: wait: the value 'soon' is invalid for '--timeout <timeout>': write a number with its unit, such as "
                    + "500ms, 60s, 10m, 2h or 30d; see `outbox wait --help`"
            ),
            (
                ["wait", "--timeout", "10"],
                "outbox: wait: the value '10' is invalid for '--timeout <timeout>': write a number with its unit, such as "
                    + "500ms, 60s, 10m, 2h or 30d; see `outbox wait --help`"
            ),
            (["submit"], "outbox: submit: missing expected argument '<dir> ...'; see `outbox submit --help`"),
            (["pause", "x", "--all"], "outbox: pause: give either names or --all; see `outbox pause --help`"),
            (["pause"], "outbox: pause: name a path or a key, or give --all; see `outbox pause --help`"),
            (
                ["avatar", "get"],
                "outbox: avatar get: missing expected argument '<url>'; see `outbox avatar get --help`"
            ),
            (
                ["run", "--log-level", "loud"],
                "outbox: run: the value 'loud' is invalid for '--log-level <log-level>'. Please provide one of the "
                    + "following: trace, debug, info, notice, warning, error, critical; see `outbox run --help`"
            ),
        ])
    func usage(arguments: [String], line: String) async throws {
        let output = try await run(arguments)
        #expect(output.code == 64)
        #expect(output.standardError == line + "\n")
        #expect(output.standardOutput.isEmpty)
    }

    @Test(
        "help, version and completion script go to stdout, with status 0",
        arguments: [
            ["--help"], ["help", "pause"], ["wait", "--help"], ["avatar"], ["--version"],
            ["--generate-completion-script", "bash"],
        ])
    func help(arguments: [String]) async throws {
        let output = try await run(arguments)
        #expect(output.code == 0)
        #expect(!output.standardOutput.isEmpty)
        #expect(output.standardError.isEmpty)
    }

    private func run(_ arguments: [String]) async throws -> Program.Output {
        let agent = try Agent(remote: Self.nowhere)
        return try await Program.run(
            "outbox", arguments, environment: ["PATH": "/usr/bin:/bin", "HOME": agent.directory.path],
            directory: agent.directory.path)
    }

    @Test(
        "an unknown key exits with 78 and names file, line, key and nearest known key", arguments: ["run", "status"])
    func unknownKey(command: String) async throws {
        let agent = try Agent(remote: Self.nowhere)
        let text = "outbox = \"outbox\"\nstate = \"state\"\n\n[upload]\nfiles_in_fligth = 3\n"
        try text.write(toFile: agent.config, atomically: true, encoding: .utf8)

        let output = try await agent.command(command)

        #expect(output.code == 78)
        for expected in ["agent.toml", "5", "files_in_fligth", "files_in_flight"] {
            #expect(output.standardError.contains(expected), "\(output.standardError)")
        }
        #expect(output.standardError.split(separator: "\n").count == 1, "an error is one line")
    }

    @Test(
        "a wrong type or bad value exits with 78 and names the key",
        arguments: [
            ("[upload]\nfiles_in_flight = \"many\"\n", "files_in_flight"), ("[intake]\nsettle = \"soon\"\n", "settle"),
            ("[intake]\nmedia_only = 3\n", "media_only"), ("[remote]\nprotocol = \"carrier-pigeon\"\n", "protocol"),
            ("[control]\ndashboard = \"0.0.0.0:80\"\n", "dashboard"),
            ("[upload]\nfragment_size = \"1MiB\"\n", "fragment_size"),
            ("[upload\n", "agent.toml"),
        ])
    func badValue(text: String, name: String) async throws {
        let agent = try Agent(remote: Self.nowhere)
        try text.write(toFile: agent.config, atomically: true, encoding: .utf8)
        let output = try await agent.command("config", "check")
        #expect(output.code == 78)
        #expect(output.standardError.contains(name), "\(output.standardError)")
    }

    @Test("a second agent on the same outbox with another state directory reports the first until it ends")
    func sharedOutbox() async throws {
        let first = try Agent(remote: Self.nowhere)
        try await first.start()
        try await Poll.until("the first agent to claim the outbox", lastState: { first.log }) {
            var status = stat()
            #expect(stat(first.outbox, &status) == 0)
            // man 7 unix: an abstract name begins with @ in /proc/net/unix.
            return try String(contentsOfFile: "/proc/net/unix", encoding: .utf8).split(separator: "\n").contains {
                $0.contains("@outbox-agent/") && $0.hasSuffix(":\(status.st_ino)")
            }
        }
        let pid = try #require(first.program?.pid)
        let second = try Agent(remote: Self.nowhere, ["outbox": .string(first.outbox)])
        try await second.start()

        try await second.hasSaid("error", "another agent (pid \(pid)) works on the same outbox")
        try await Poll.until("the problem") {
            try await second.problems().contains { $0.contains("works on the same outbox") }
        }
        try await first.stop()
        try await second.hasSaid("notice", "no other agent works on the outbox any more")
        try await Poll.until("no problem") {
            try await !second.problems().contains { $0.contains("works on the same outbox") }
        }
    }

    @Test("run logs its configuration file, and whether the server can be reached")
    func start() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try await agent.hasSaid("info", "outbox is watching", "configuration=\(agent.config)")
        try await agent.hasSaid("info", "the server can be reached", server.url)
        #expect(server.records.isEmpty, "nothing was sent")
        try await agent.stop()

        try agent.configure(["remote.url": .string(Self.nowhere)])
        try await agent.start()
        try await agent.hasSaid("warning", "the server can't be reached now", Self.nowhere)
    }

    @Test("run and config check warn that ./agent.toml hides the user's own configuration")
    func shadowed() async throws {
        let agent = try Agent(remote: Self.nowhere)
        let own = agent.directory.path(".config/outbox/agent.toml")
        try Files.makeDirectory(agent.directory.path(".config/outbox"))
        try Files.write([], to: own)
        let words = "\(agent.config) is in use, so the agent ignores \(own)"

        let check = try await Program.run(
            "outbox", ["config", "check"], environment: agent.environment, directory: agent.directory.path)
        #expect(check.code == 0 && check.standardError.contains(words), "\(check)")
        let program = try Program(
            "outbox", ["run"], environment: agent.environment, directory: agent.directory.path,
            outputPrefix: agent.directory.path("shadowed"))
        try await Poll.until("the warning", lastState: { program.errorTail() }) {
            program.standardError.contains(words)
        }
        program.kill(SIGTERM)
        try await program.wait()
    }

    @Test("run says at its start that ca_file can't be read, and what to do")
    func missingAuthorities() async throws {
        let agent = try Agent(remote: "https://127.0.0.1:1", ["remote.ca_file": "/no/such/authorities.pem"])
        try await agent.start()
        try await agent.hasSaid("error", "remote.ca_file can't be read", "correct the path", "/no/such/authorities.pem")
    }

    @Test("for a file outside the outbox, the error shows the command that copies it")
    func outside() async throws {
        let agent = try Agent(remote: Self.nowhere)
        try await agent.start()
        let file = agent.directory.path("cat.jpg")
        try Files.write([0xFF, 0xD8, 0xFF], to: file)
        for command in ["status", "wait", "pause"] {
            let output = try await agent.command(command, file)
            #expect(output.code == 66, "\(output)")
            #expect(output.standardError.contains("not in the outbox; copy it into"), "\(output.standardError)")
            #expect(output.standardError.contains("cp \(file) \(agent.outbox)/"), "\(output.standardError)")
        }
    }

    @Test("config check prints the effective configuration, also from the environment, with secrets masked")
    func configCheck() async throws {
        let agent = try Agent(
            remote: Self.nowhere, ["upload.files_in_flight": 3],
            environment: ["OUTBOX_UPLOAD_FRAGMENTS_IN_FLIGHT": "2", "OUTBOX_TOKEN": "topsecret"])

        let plain = try await agent.command("config", "check")
        let json = try await agent.command("config", "check", "--json")

        #expect(plain.code == 0)
        #expect(plain.standardOutput.contains("files_in_flight"))
        #expect(json.code == 0)
        #expect((try? JSONSerialization.jsonObject(with: Data(json.standardOutput.utf8))) is [String: Any])
        #expect(json.standardOutput.contains("OUTBOX_UPLOAD_FRAGMENTS_IN_FLIGHT"), "where a value came from")
        #expect(!(plain.standardOutput + json.standardOutput).contains("topsecret"))
    }

    @Test("without an agent, commands fail with the contract's exit codes")
    func noAgent() async throws {
        let agent = try Agent(remote: Self.nowhere)
        let paused = try await agent.command("wait", "--timeout", "1s")
        #expect([69, 75].contains(paused.code), "\(paused)")
        #expect(paused.standardError.hasPrefix("outbox: the agent is not running (no answer on "), "\(paused)")
        let unknown = try await agent.command("status", "no-such-file.jpg")
        #expect(unknown.code == 66, "\(unknown)")
    }

    @Test("a missing configuration file is reported with its path")
    func missing() async throws {
        let agent = try Agent(remote: Self.nowhere)
        let output = try await Program.run(
            "outbox", ["run", "--config", "/no/such/agent.toml"], environment: ["HOME": agent.directory.path],
            directory: agent.directory.path)
        #expect(output.code == 78, "\(output)")
        #expect(output.standardError.contains("/no/such/agent.toml"))
    }

    @Test("a missing outbox is created, and one that can't be created is reported with its path")
    func missingOutbox() async throws {
        let agent = try Agent(remote: Self.nowhere, ["outbox": "new/outbox"])
        try await agent.start()
        var status = stat()
        #expect(stat(agent.directory.path("new/outbox"), &status) == 0 && status.st_mode & S_IFMT == S_IFDIR)
        try await agent.stop()

        try agent.configure(["outbox": "agent.toml/outbox"])
        let output = try await agent.command("run")
        #expect(output.code == 73, "\(output)")
        #expect(output.standardError.hasPrefix("outbox: cannot create \(agent.config)/outbox: "), "\(output)")
        #expect(output.standardError.split(separator: "\n").count == 1, "\(output)")
    }

    @Test(
        "SIGTERM and SIGINT end the agent with 0 during an upload, which resumes after a restart",
        arguments: [
            SIGTERM, SIGINT,
        ])
    func shutdown(signal: Int32) async throws {
        let server = try FaultServer(uploadDelay: .milliseconds(60), faults: FaultServer.keepsAssembling)
        let agent = try Agent(remote: server.url, ["upload.fragments_in_flight": 2])
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 40 * 524_288)
        try await Poll.until("fragments on their way", lastState: { agent.log }) { server.count(.upload) > 3 }

        agent.program?.kill(signal)
        let ending = try await agent.program?.wait()
        #expect(ending == .exited(0))
        #expect(server.finished == [])
        server.letFinish()

        try await agent.start()
        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
        #expect(server.store.repeated <= 2, "at most the fragments in flight are repeated")
    }

    @Test("the state directory, the control socket and all files in the directory are accessible to the owner only")
    func modes() async throws {
        let server = try FaultServer(faults: FaultServer.keepsAssembling)
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 600_000)
        try await agent.reached("a.jpg", .verifying)
        #expect(try await agent.command("pause", "--all").code == 0)

        var modes: [String: mode_t] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: agent.state) + ["."] {
            var status = stat()
            let exists = lstat("\(agent.state)/\(name)", &status) == 0
            // Directories in a directory of mode 0700 may have any mode.
            if exists, name == "." || status.st_mode & S_IFMT != S_IFDIR { modes[name] = status.st_mode & 0o777 }
        }
        #expect(modes["."] == 0o700)
        #expect(modes["control.sock"] == 0o600)
        #expect(modes["ledger.lmdb"] == 0o600)
        #expect(modes.filter { $0.value & 0o077 != 0 } == [:])
    }

    @Test("with --log-format json, every line of the log is an object")
    func jsonLog() async throws {
        let agent = try Agent(remote: Self.nowhere)
        let program = try Program(
            "outbox", ["run", "--config", agent.config, "--log-format", "json"],
            environment: ["HOME": agent.directory.path], directory: agent.directory.path,
            outputPrefix: agent.directory.path("json"))
        try agent.drop("a.jpg", .jpeg, size: 3000)
        try await agent.reached("a.jpg", .waiting)
        program.kill(SIGTERM)
        try await program.wait()

        let lines = program.standardError.split(separator: "\n")
        #expect(!lines.isEmpty)
        for line in lines {
            #expect((try? JSONSerialization.jsonObject(with: Data(line.utf8))) is [String: Any], "\(line)")
        }
    }
}
