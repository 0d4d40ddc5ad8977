import EndToEndSupport
import TestSupport
import Testing

/// The trial R7 exhausts both limits of inotify with many files; here, a limit is raised again.
@Suite("The kernel's limits on inotify", .agents)
struct WatchLimitTests {
    private static let environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"]
    /// Runs a program in its own user namespace, with a limit of its own that does not affect the machine (man 7
    /// user_namespaces, /proc/sys/user).
    private static let launcher = [
        "/usr/bin/unshare", "--user", "--map-root-user", "sh", "-c",
        "echo 0 > /proc/sys/user/max_inotify_instances && exec \"$0\" \"$@\"",
    ]

    private func run(_ words: [String]) async throws -> Program.Output {
        try await Program.run(
            words[0], Array(words.dropFirst()), environment: Self.environment, directory: "/")
    }

    @Test("too few instances: the agent polls until an instance is available, and one warning says what to do")
    func instances() async throws {
        guard let trial = try? await run(Self.launcher + ["/bin/true"]), trial.code == 0 else {
            return print("skipped: a user namespace may not be made (unshare --user --map-root-user)")
        }
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.rescan": "2s"])
        agent.launcher = Self.launcher
        try Files.makeDirectory(agent.path("in"))
        try await agent.start()
        var keys = [try agent.drop("in/a.jpg", .jpeg, size: 2000)]
        try await agent.reached("in/a.jpg", .done)
        try await agent.hasSaid("max_inotify_instances=", "sudo sysctl")
        #expect(agent.said("max_inotify_instances=", "sudo sysctl").count == 1)
        #expect(try await agent.command("status", "--json").standardOutput.contains("max_inotify_instances"))

        let raised = try await run([
            "/usr/bin/nsenter", "--user", "--target", "\(try #require(agent.program?.pid))", "sh", "-c",
            "echo 10 > /proc/sys/user/max_inotify_instances",
        ])
        try #require(raised.code == 0, "\(raised)")
        try await Poll.until("the problem to be over", timeout: .seconds(60), every: .milliseconds(300)) {
            try await !agent.command("status", "--json").standardOutput.contains("max_inotify_instances")
        }
        try keys.append(agent.drop("in/b.jpg", .jpeg, size: 3000))
        try await agent.reached("in/b.jpg", .done)
        expectClean(server, finished: keys)
    }
}
