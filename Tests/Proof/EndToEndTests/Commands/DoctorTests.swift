import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

/// Each test really breaks one thing, and checks only exit code and output.
@Suite("outbox doctor", .agents)
struct DoctorTests {
    // MARK: Nothing broken

    @Test("finds no problem on a healthy machine, and leaves no files")
    func healthy() async throws {
        let server = try FaultServer(token: "sesame")
        let patient = try Patient(server.url, token: "sesame")
        let visit = try await patient.visit()

        #expect(visit.code == 0 && visit.isOK, "\(visit)")
        for check in ["configuration", "token", "outbox", "state", "kernel", "open_files", "connection", "server"] {
            #expect(visit.level(check) == "ok", "\(visit)")
        }
        #expect(visit.level("credentials") == "ok")
        #expect(visit.message("credentials").contains("token_file"))
        #expect(visit.level("fragment_header") == "ok")
        #expect(server.count(.isFinish) == 1 && server.count(.upload) == 1, "two harmless questions")
        #expect(server.records.count == 2)
        #expect(Files.tree(patient.agent.outbox).isEmpty && Files.tree(patient.agent.state).isEmpty)
    }

    @Test("accepts the reference server")
    func receiver() async throws {
        let receiver = try await Receiver.started()
        let visit = try await Patient(receiver.url).visit()
        #expect(visit.code == 0, "\(visit)")
        #expect(visit.level("server") == "ok")
        #expect(visit.level("credentials") == "ok")
        #expect(visit.level("fragment_header") == "ok")
    }

    @Test("notices that the header field file_block does not reach the server")
    func droppedHeader() async throws {
        // A server behind nginx never receives header fields with an underscore.
        let server = try ScriptedServer(handler: { request in
            request.target.hasSuffix("upload.do")
                ? .json(#"{"code":400,"message":"The header field file_block is missing."}"#)
                : .json(#"{"code":200,"data":{"finishStatus":1}}"#)
        })
        let visit = try await Patient(server.url).visit()
        #expect(visit.code == 1 && visit.level("fragment_header") == "stop", "\(visit)")
        #expect(visit.remedy("fragment_header").contains("underscores_in_headers on"))
    }

    @Test("bypasses the proxy for a server on this machine, as the agent does")
    func proxyForLoopback() async throws {
        let server = try FaultServer()
        let visit = try await Patient(
            server.url, environment: ["http_proxy": "http://127.0.0.1:1", "all_proxy": "http://127.0.0.1:1"]
        ).visit()
        #expect(visit.code == 0 && visit.isOK, "\(visit)")
        #expect(visit.level("proxy") == nil && visit.level("connection") == "ok")
    }

    @Test("prints a line for each finding and a summary, without colours if there is no terminal")
    func lines() async throws {
        let patient = try Patient("http://127.0.0.1:1")
        let output = try await patient.agent.command("doctor")
        let lines = output.standardOutput.split(separator: "\n")
        #expect(output.code == 1)
        #expect(output.standardError.isEmpty)
        #expect(lines.dropLast().allSatisfy { $0.prefixMatch(of: /(ok|note|warning|stop) +[a-z]/) != nil })
        #expect(lines.last?.hasPrefix("1 problem stops uploads") == true)
        #expect(!output.standardOutput.contains("\u{1B}"))
    }

    @Test("reports a running agent with its pid, and notes that no agent runs")
    func runningAgent() async throws {
        let server = try FaultServer()
        let patient = try Patient(server.url)
        try await patient.agent.start()
        let pid = try #require(patient.agent.program?.pid)

        let during = try await patient.visit()
        try await patient.agent.kill()
        let after = try await patient.visit()

        #expect(during.level("agent") == "ok" && during.message("agent").contains("\(pid)"), "\(during)")
        #expect(after.level("agent") == "note", "\(after)")
    }

    @Test("believes a running agent that has a credential of its service, and says what stops uploads all the same")
    func credentialOfTheService() async throws {
        let server = try FaultServer(token: "sesame")
        let patient = try Patient(server.url)
        let agent = patient.agent
        let usual = agent.environment
        // As LoadCredential= does, for the agent alone.
        try Files.write(Array("sesame\n".utf8), to: agent.directory.path("outbox.token"))
        agent.environment["CREDENTIALS_DIRECTORY"] = agent.directory.path
        try await agent.start()
        agent.environment = usual
        try agent.drop("beach.jpg", .jpeg, size: 3000)
        try await agent.reached("beach.jpg", .done)
        let visit = try await patient.visit()
        #expect(visit.code == 0 && visit.level("credentials") == "note", "\(visit)")

        _ = try await agent.command("pause", "--all")
        let paused = try await agent.command("doctor")
        #expect(paused.code == 1 && paused.standardOutput.contains("1 problem stops uploads"), "\(paused)")
        _ = try await agent.command("resume", "--all")
        try await agent.stop()
        let stopped = try await agent.command("doctor")
        #expect(stopped.standardOutput.contains("none") && !stopped.standardOutput.contains("nothing stops uploads"))

        try FileManager.default.removeItem(atPath: agent.outbox)
        let gone = try await patient.visit(within: [], script: "")
        #expect(gone.code == 1 && gone.level("outbox") == "stop" && gone.message("outbox").contains("gone"), "\(gone)")
    }

    @Test("exits with 78 if the configuration is invalid")
    func configuration() async throws {
        let patient = try Patient("http://127.0.0.1:1")
        try "outbxo = \"x\"\n".write(toFile: patient.agent.config, atomically: true, encoding: .utf8)
        let output = try await patient.agent.command("doctor")
        #expect(output.code == 78)
        #expect(output.standardError.contains("outbxo"))
    }

    // MARK: The token

    @Test("reports a token file that is missing, empty or readable by others")
    func tokenFile() async throws {
        let server = try FaultServer()
        let patient = try Patient(server.url, token: "sesame")
        let path = patient.agent.directory.path("token")

        chmod(path, 0o644)
        let open = try await patient.visit()
        #expect(open.code == 0 && open.level("token") == "warning", "\(open)")
        #expect(open.remedy("token") == "chmod 600 \(path)")

        try Files.write([], to: path)
        let empty = try await patient.visit()
        #expect(empty.code == 1 && empty.level("token") == "stop", "\(empty)")

        unlink(path)
        let missing = try await patient.visit()
        #expect(missing.code == 1 && missing.message("token").contains(path), "\(missing)")
    }

    @Test("reports the origin of a refused token, and a missing token if the server requires one")
    func refusedToken() async throws {
        let server = try FaultServer(token: "right")
        let refused = try await Patient(server.url, environment: ["OUTBOX_TOKEN": "wrong"]).visit()
        #expect(refused.code == 1 && refused.level("credentials") == "stop", "\(refused)")
        #expect(refused.message("credentials").contains("OUTBOX_TOKEN"))
        #expect(!"\(refused)".contains("wrong "), "the token itself is never shown")

        let none = try await Patient(server.url).visit()
        #expect(none.code == 1 && none.message("credentials").contains("there is none"), "\(none)")
    }

    @Test("sends no token over plain http to another machine, and says so")
    func plainHTTP() async throws {
        let patient = try Patient(
            "http://192.0.2.1:9", environment: ["OUTBOX_TOKEN": "secret", "http_proxy": "127.0.0.1:1"])
        let visit = try await patient.visit()
        #expect(visit.code == 1 && visit.level("token") == "stop", "\(visit)")
        #expect(visit.level("proxy") == "note")
    }

    // MARK: Directories

    @Test("reports an outbox that is not a directory or cannot be created")
    func outbox() async throws {
        let server = try FaultServer()
        let patient = try Patient(server.url)
        rmdir(patient.agent.outbox)
        let missing = try await patient.visit(within: [], script: "")
        #expect(missing.code == 0 && missing.level("outbox") == "note", "the agent makes it: \(missing)")

        try Files.write([1], to: patient.agent.outbox)
        let file = try await patient.visit(within: [], script: "")
        #expect(file.code == 1 && file.level("outbox") == "stop", "\(file)")

        try patient.agent.configure(["outbox": "agent.toml/outbox"])
        let impossible = try await patient.visit(within: [], script: "")
        #expect(impossible.code == 1 && impossible.level("outbox") == "stop", "\(impossible)")
    }

    @Test("warns of a state directory open to others, and shows the chmod command")
    func stateMode() async throws {
        let server = try FaultServer()
        let patient = try Patient(server.url)
        chmod(patient.agent.state, 0o755)
        let visit = try await patient.visit()
        #expect(visit.code == 0 && visit.level("state") == "warning", "\(visit)")
        #expect(visit.remedy("state").hasPrefix("chmod 700 \(patient.agent.state)"))
    }

    @Test(
        "warns of a read-only outbox, and rejects a read-only state directory",
        .enabled(if: Sandbox.hasMounts, "needs a mount namespace"))
    func readOnly() async throws {
        let server = try FaultServer()
        let patient = try Patient(server.url)
        let script = #"mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && "#

        let outbox = try await patient.visit(within: Sandbox.command, script: script, patient.agent.outbox)
        #expect(outbox.code == 0 && outbox.level("outbox") == "warning", "\(outbox)")
        #expect(outbox.message("outbox").contains("read-only"))

        let state = try await patient.visit(within: Sandbox.command, script: script, patient.agent.state)
        #expect(state.code == 1 && state.level("state") == "stop", "\(state)")
    }

    @Test(
        "reports that the state directory is on a full disk, or in memory",
        .enabled(if: Sandbox.hasMounts, "needs a mount namespace"))
    func fullDisk() async throws {
        let server = try FaultServer()
        let patient = try Patient(server.url)
        let script = #"mount -t tmpfs -o size=4m,mode=700 tmpfs "$1" && "#
        let visit = try await patient.visit(within: Sandbox.command, script: script, patient.agent.state)
        #expect(visit.code == 1 && visit.level("state_space") == "stop", "\(visit)")
        #expect(visit.level("state_file_system") == "warning", "gone after a reboot")
    }

    // MARK: Limits

    @Test("reports too low a limit on open files, and how to raise it")
    func openFiles() async throws {
        let server = try FaultServer()
        let visit = try await Patient(server.url).visit(within: [], script: "ulimit -n 20; ")
        #expect(visit.code == 1 && visit.level("open_files") == "stop", "\(visit)")
        #expect(visit.remedy("open_files").contains("ulimit -n"))
    }

    @Test(
        "warns of more directories than inotify watches, and names the limit to raise",
        .enabled(if: Sandbox.hasLimits, "needs a user namespace"))
    func watches() async throws {
        let server = try FaultServer()
        let patient = try Patient(server.url)
        for name in ["a", "b/c"] { try Files.makeDirectory(patient.agent.path(name)) }
        let visit = try await patient.visit(
            within: Sandbox.user, script: "echo 2 > /proc/sys/user/max_inotify_watches; ")
        #expect(visit.code == 0 && visit.level("watches") == "warning", "\(visit)")
        #expect(visit.message("watches").contains("4 directories"))
        #expect(visit.remedy("watches").contains("max_user_watches"))
    }

    // MARK: The server

    @Test("reports a refused connection, and a name without an address")
    func noServer() async throws {
        let refused = try await Patient("http://127.0.0.1:1").visit()
        #expect(refused.code == 1 && refused.level("connection") == "stop", "\(refused)")
        let unknown = try await Patient("https://no-such-host.invalid").visit()
        #expect(unknown.code == 1 && unknown.level("dns") == "stop", "\(unknown)")
    }

    @Test(
        "distinguishes a wrong path, a captive portal, a redirect and a broken server",
        arguments: [
            (.status(404), "/fileSection/"), (.html, "browser"), (.redirect("https://elsewhere/"), "final address"),
            (.status(500), "log"), (.status(507), "space"), (.garbage, "browser"), (.reset, "remote.url"),
        ] as [(FaultServer.Fault, String)])
    func badAnswers(fault: FaultServer.Fault, advice: String) async throws {
        let server = try FaultServer(faults: { _, _ in fault })
        let visit = try await Patient(server.url).visit()
        #expect(visit.code == 1 && visit.level("server") == "stop", "\(visit)")
        #expect(visit.remedy("server").contains(advice), "\(visit)")
    }

    @Test("gives up on a server that never replies")
    func silentServer() async throws {
        let server = try FaultServer(faults: { _, _ in .hang })
        let visit = try await Patient(server.url).visit()
        #expect(visit.code == 1 && visit.level("server") == "stop", "\(visit)")
    }

    @Test("warns that the clocks are a day apart")
    func clock() async throws {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let tomorrow = format.string(from: Date(timeIntervalSinceNow: 86_400 + 1800))
        let server = try ScriptedServer { _ in
            .response(status: 200, headers: [("Date", tomorrow)], body: Array(#"{"code":200,"data":{}}"#.utf8))
        }
        defer { server.stop() }
        let visit = try await Patient(server.url).visit()
        #expect(visit.code == 0 && visit.level("clock") == "warning", "\(visit)")
        #expect(visit.message("clock").contains("1 d behind"))
    }

    @Test(
        "reports what is wrong with a certificate, and warns before a good one expires",
        .enabled(if: TLSServer.isAvailable, "openssl is not installed"))
    func certificate() async throws {
        let server = try await TLSServer(names: "IP:127.0.0.1")
        let patient = try Patient(server.url)
        let unknown = try await patient.visit()
        #expect(unknown.code == 1 && unknown.level("certificate") == "stop", "\(unknown)")
        #expect(unknown.remedy("certificate").contains("remote.ca_file"))

        try patient.agent.configure(["remote.ca_file": .string(server.certificate)])
        let known = try await patient.visit()
        #expect(known.level("certificate") == "warning", "it ends in two days: \(known)")
        #expect(known.level("connection") == "ok")

        let other = try await TLSServer(names: "DNS:other.invalid")
        let named = try Patient(other.url, ["remote.ca_file": .string(other.certificate)])
        let visit = try await named.visit()
        #expect(visit.code == 1 && visit.message("certificate").contains("another name"), "\(visit)")
    }

    @Test("reports an https URL of a plain http server")
    func noTLS() async throws {
        let server = try FaultServer()
        let visit = try await Patient("https\(server.url.dropFirst(4))").visit()
        #expect(visit.code == 1 && visit.level("certificate") == "stop", "\(visit)")
        #expect(visit.remedy("certificate").contains("http://"), "\(visit)")
    }
}
