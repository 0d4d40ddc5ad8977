import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

/// An agent in its own user namespace, with watch limits of its own that do not affect the machine (man 7
/// user_namespaces, /proc/sys/user).
private final class ConfinedAgent {
    let agent: Agent
    let program: Program
    private static let environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"]

    /// Returns why this machine cannot run a confined agent; nil if it can.
    static func obstacle() async -> String? {
        let script = "echo 5 > /proc/sys/user/max_inotify_watches"
        let trial = try? await Program.run(
            "/usr/bin/unshare", ["--user", "--map-root-user", "sh", "-c", script], environment: environment,
            directory: "/")
        guard let trial else { return "there is no /usr/bin/unshare" }
        return trial.code == 0 ? nil : "a user namespace may not be made: \(trial.standardError)"
    }

    init(_ agent: Agent, _ limit: String, _ value: Int) async throws {
        self.agent = agent
        let script = "echo \(value) > /proc/sys/user/\(limit) && exec \"$0\" \"$@\""
        program = try Program(
            "/usr/bin/unshare",
            ["--user", "--map-root-user", "sh", "-c", script, Program.path(of: "outbox"), "run", "--config"]
                + [agent.config], environment: Self.environment.merging(["HOME": agent.directory.path]) { $1 },
            directory: agent.directory.path, outputPrefix: agent.directory.path("confined"))
        try await Poll.until("the agent's health", lastState: { self.program.errorTail() }) {
            if let ending = program.ending { throw Surprise("it ended: \(ending)\n\(program.errorTail())") }
            return agent.isAnswering
        }
    }

    deinit { program.kill(SIGKILL) }

    func raise(_ limit: String, to value: Int) async throws {
        let output = try await Program.run(
            "/usr/bin/nsenter",
            ["--user", "--target", "\(program.pid)", "sh", "-c", "echo \(value) > /proc/sys/user/\(limit)"],
            environment: Self.environment, directory: "/")
        try #require(output.code == 0, "\(output)")
    }

    /// Returns the number of log lines that contain all the words.
    func lines(with words: String...) -> Int {
        program.standardError.split(separator: "\n").count { line in words.allSatisfy { line.contains($0) } }
    }
}

@Suite("The kernel's limits on inotify", .agents)
struct WatchLimitTests {
    @Test("too few watches: no file is missed, and one warning says what to do")
    func watches() async throws {
        if let obstacle = await ConfinedAgent.obstacle() { return print("skipped: \(obstacle)") }
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.rescan": "1h"])
        for index in 0..<20 { try Files.makeDirectory(agent.path("d\(index)/in")) }
        let confined = try await ConfinedAgent(agent, "max_inotify_watches", 5)
        try await Poll.until("a warning", lastState: { confined.program.errorTail() }) {
            confined.lines(with: "max_inotify_watches=", "sudo sysctl") > 0
        }

        var keys: [String] = []
        for index in 0..<20 { try keys.append(agent.drop("d\(index)/in/a.jpg", .jpeg, size: 2000 + index)) }
        for index in 0..<20 { try await agent.reached("d\(index)/in/a.jpg", .done) }
        #expect(confined.lines(with: "max_inotify_watches=", "sudo sysctl") == 1)
        expectClean(server, finished: keys)
    }

    @Test("too few instances: the agent polls until an instance is available")
    func instances() async throws {
        if let obstacle = await ConfinedAgent.obstacle() { return print("skipped: \(obstacle)") }
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.rescan": "2s"])
        try Files.makeDirectory(agent.path("in"))
        let confined = try await ConfinedAgent(agent, "max_inotify_instances", 0)
        var keys = [try agent.drop("in/a.jpg", .jpeg, size: 2000)]
        try await agent.reached("in/a.jpg", .done)
        try await Poll.until("a warning", lastState: { confined.program.errorTail() }) {
            confined.lines(with: "max_inotify_instances=", "sudo sysctl") > 0
        }
        #expect(confined.lines(with: "max_inotify_instances=", "sudo sysctl") == 1)
        let problems = try await agent.command("status", "--json").standardOutput
        #expect(problems.contains("max_inotify_instances"))

        try await confined.raise("max_inotify_instances", to: 10)
        try await Poll.until("the problem to be over", timeout: .seconds(60), every: .milliseconds(300)) {
            try await agent.command("status", "--json").standardOutput.contains("max_inotify_instances") == false
        }
        try keys.append(agent.drop("in/b.jpg", .jpeg, size: 3000))
        try await agent.reached("in/b.jpg", .done)
        expectClean(server, finished: keys)
    }
}
