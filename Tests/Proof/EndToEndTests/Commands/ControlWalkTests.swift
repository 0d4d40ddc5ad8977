import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

/// Runs the commands of the documentation and the examples.
@Suite("The commands of the documentation", .agents)
struct ControlWalkTests {
    private func example(_ name: String) -> String { Repository.path("examples/\(name)") }

    /// Starts a receiver and an agent that uploads to it.
    private func pair() async throws -> (Receiver, Agent) {
        let receiver = try await Receiver.started()
        let agent = try Agent(remote: receiver.url)
        try await agent.start()
        return (receiver, agent)
    }

    /// Runs a program as a user of the agent would, with `outbox` in the PATH.
    private func run(_ program: String, _ arguments: [String], for agent: Agent) async throws -> Program.Output {
        let programs = URL(fileURLWithPath: try Program.path(of: "outbox")).deletingLastPathComponent().path
        let environment = agent.environment.merging([
            "PATH": "\(programs):/usr/local/bin:/usr/bin:/bin", "OUTBOX_CONFIG": agent.config,
            "OUTBOX_SOCKET": agent.socket,
        ]) { $1 }
        return try await Program.run(
            "/usr/bin/env", [program] + arguments, environment: environment, directory: agent.directory.path,
            timeout: .seconds(90))
    }

    /// Returns the body of a page or picture.
    private func get(_ url: String) async throws -> String {
        let output = try await Program.run(
            "/usr/bin/curl", ["-sS", "--fail", url], environment: [:], directory: "/tmp")
        #expect(output.code == 0, "\(url): \(output.standardError)")
        return output.standardOutput
    }

    /// Checks that the page of a post shows this title and this many pictures, and that the pictures exist.
    private func expectPost(_ url: String?, title: String, pictures: Int) async throws {
        let page = try await get(try #require(url))
        #expect(page.contains("<h1>\(title)</h1>"), "\(page)")
        let sources = page.matches(of: /<img[^>]*src="([^"]+)"/).map { String($0.output.1) }
        #expect(sources.count == pictures, "\(page)")
        let base = try #require(URL(string: url ?? ""))
        for source in sources {
            let picture = try #require(URL(string: source, relativeTo: base)).absoluteString
            #expect(try await !get(picture).isEmpty)
        }
    }

    @Test("the walk in http.md runs without errors")
    func walk() async throws {
        let (receiver, agent) = try await pair()
        let text = try Repository.text("docs/http.md")
        let blocks = text.matches(of: /<!-- walk -->\n```sh\n((?s).*?)```\n/).map { String($0.output.1) }
        #expect(blocks.count >= 8)
        let script = agent.directory.path("walk.sh")
        try Files.write(Array(blocks.joined(separator: "\n").utf8), to: script)

        let output = try await run("bash", ["-e", "-o", "pipefail", script], for: agent)

        #expect(output.code == 0, "\(output)")
        for word in [
            "\"state\":\"paused\"", "dot.gif", "\"A walk\"", "event: source", "outbox_files{", "\"refusal\":\"the post",
        ] {
            #expect(output.standardOutput.contains(word), "\(word) in \(output)")
        }
        #expect(!agent.exists("walk") && !agent.exists("dot.gif"))
        let health = try #require(ControlSocket.get("/v1/health", socket: agent.socket))
        #expect(String(decoding: health.body, as: UTF8.self).contains("\"paused\":false"))
        #expect(receiver.program?.ending == nil)
    }

    @Test("examples/source becomes a post that shows its pictures; submit adds one")
    func source() async throws {
        let (receiver, agent) = try await pair()
        let copy = try await run("cp", ["-r", example("source"), agent.path("sea-day")], for: agent)
        #expect(copy.code == 0, "\(copy)")

        let first = try await agent.reached(source: "sea-day", .done)
        #expect(first.names == ["evening.jpg", "flag.jpg"])
        try await expectPost(first.url, title: first.title, pictures: 2)

        try FileManager.default.copyItem(atPath: example("sea.jpg"), toPath: agent.path("sea-day/sea.jpg"))
        try await agent.reached(source: "sea-day", .done) { $0.pending_changes == ["sea.jpg"] }
        let submit = try await run("python3", [example("socket_client.py"), "submit", "sea-day"], for: agent)
        #expect(submit.code == 0, "\(submit)")
        let second = try await agent.reached(source: "sea-day", .done) { $0.revision == 2 }
        #expect(second.url == first.url)
        try await expectPost(second.url, title: first.title, pictures: 3)
        let list = try await run("python3", [example("socket_client.py"), "list"], for: agent)
        #expect(list.code == 0, "\(list)")
        #expect(list.standardOutput.contains("sea-day/flag.jpg"), "\(list)")
        #expect(list.standardOutput.contains("revision 2"), "\(list)")
        #expect(try receiver.objects().count == 3)
    }

    @Test("post-album.sh posts the pictures of a directory and prints the URL")
    func postAlbum() async throws {
        let (receiver, agent) = try await pair()
        let output = try await run(
            "bash", [example("post-album.sh"), example("source"), agent.outbox, "Our \"holiday\"", "60"], for: agent)

        #expect(output.code == 0, "\(output)")
        let url = output.standardOutput.trimmingCharacters(in: .whitespacesAndNewlines)
        let done = try await agent.reached(source: "source", .done)
        #expect(done.title == "Our \"holiday\"")
        #expect(done.url == url)
        #expect(done.revision == 1)
        #expect(try await get(url).contains("Our "))
        #expect(try receiver.objects().count == 2)
    }

    @Test("album.py puts files into a draft, submits it and follows it to its end")
    func album() async throws {
        let (receiver, agent) = try await pair()
        let output = try await run(
            "python3",
            [
                example("album.py"), agent.outbox, "friday", "A short Friday", example("sea.jpg"),
                example("source/flag.jpg"),
            ], for: agent)

        #expect(output.code == 0, "\(output)")
        let done = try await agent.reached(source: "friday", .done)
        #expect((done.title, done.cover) == ("A short Friday", "sea.jpg"))
        #expect(output.standardOutput == "\(done.url ?? "no URL")\n")
        try await expectPost(done.url, title: "A short Friday", pictures: 2)
        #expect(output.standardError.contains("done"), "\(output)")
        #expect(try receiver.objects().count == 2)
    }

    @Test("drop-and-wait.sh prints the URL of a file, and watch_sidecars.py each state of files and posts")
    func sidecars() async throws {
        let (receiver, agent) = try await pair()
        let watcher = try Program(
            "/usr/bin/env", ["python3", example("watch_sidecars.py"), agent.outbox, "0.05"],
            environment: ["PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"], directory: agent.directory.path,
            outputPrefix: agent.directory.path("watcher"))
        defer { watcher.kill(SIGKILL) }
        let dropped = try await run(
            "bash", [example("drop-and-wait.sh"), example("sea.jpg"), agent.outbox, "60"], for: agent)
        #expect(dropped.code == 0 && dropped.standardOutput.hasPrefix(receiver.url), "\(dropped)")
        let copy = try await run("cp", ["-r", example("source"), agent.path("sea-day")], for: agent)
        #expect(copy.code == 0, "\(copy)")
        try agent.drop("notes.txt", Array("no picture".utf8))
        let post = try #require(try await agent.reached(source: "sea-day", .done).url)
        for line in [
            "* done       sea.jpg  \(dropped.standardOutput)", "* done       sea-day  \(post)\n",
            "* rejected   notes.txt  ",
        ] {
            try await Poll.until("\(line)", lastState: { watcher.standardOutput + watcher.errorTail() }) {
                watcher.standardOutput.contains(line)
            }
        }
        #expect(watcher.ending == nil, "\(watcher.errorTail())")
    }

    @Test("a test runs every program in examples")
    func complete() throws {
        let tests = try Repository.text("Tests/Proof/EndToEndTests/Commands/ControlWalkTests.swift")
        let names = try FileManager.default.contentsOfDirectory(atPath: example(""))
        for name in names where name.hasSuffix(".py") || name.hasSuffix(".sh") {
            #expect(tests.contains("example(\"\(name)\")"), "run \(name)")
        }
    }

    @Test("the examples report errors with their exit codes")
    func wrong() async throws {
        let (receiver, agent) = try await pair()
        let unknown = try await run("python3", [example("socket_client.py"), "submit", "nowhere"], for: agent)
        #expect(unknown.code == 1, "\(unknown)")
        #expect(unknown.standardError.contains("nowhere"), "\(unknown)")
        let usage = try await run("bash", [example("post-album.sh"), "/nonexistent", agent.outbox], for: agent)
        #expect(usage.code == 2, "\(usage)")
        try Files.makeDirectory(agent.directory.path("empty"))
        let notes = agent.directory.path("empty/notes.txt")
        try Files.write(Array("no picture".utf8), to: notes)
        let rejected = try await run(
            "bash", [example("post-album.sh"), agent.directory.path("empty"), agent.outbox, "Nothing", "60"],
            for: agent)
        #expect(rejected.code == 1, "\(rejected)")
        #expect(rejected.standardError.contains("rejected"), "\(rejected)")
        #expect(try receiver.objects() == [])
    }
}
