import EndToEndSupport
import Foundation
import TestSupport

/// R7: the kernel grants no more watches, or no inotify instance at all.
struct WatchLimits: Trial {
    let name = "R7"
    let title = "watch and instance limits exhausted"
    let bar = "polling within 5 s, a warning that names the limit, 0 missed"
    let company = Company.inQuickRuns

    func run(_ context: TrialContext) async throws -> Outcome {
        let limits = ["max_inotify_watches": 8, "max_inotify_instances": 0]
        guard await Self.isPermitted(in: context.place) else {
            return .skipped("no user namespace in which the limits can be lowered (unshare --user --map-root-user)")
        }
        var findings = Findings()
        var parts: [String] = []
        for (limit, value) in limits.sorted(by: { $0.key > $1.key }) {
            parts.append(try await exhaust(limit, at: value, context, &findings))
        }
        return findings.outcome(parts.joined(separator: "; "))
    }

    private static func launcher(_ limit: String, at value: Int) -> [String] {
        [
            "/usr/bin/unshare", "--user", "--map-root-user", "/bin/sh", "-c",
            "echo \(value) > /proc/sys/user/\(limit) && exec \"$@\"", "sh",
        ]
    }

    private static func isPermitted(in place: String) async -> Bool {
        let words = launcher("max_inotify_watches", at: 8) + ["/bin/true"]
        let output = try? await Program.run(
            words[0], Array(words.dropFirst()), environment: ["PATH": "/usr/bin:/bin"], directory: place)
        return output?.code == 0
    }

    private func exhaust(
        _ limit: String, at value: Int, _ context: TrialContext, _ findings: inout Findings
    ) async throws -> String {
        let files = context.count(quick: 100, usual: 500, long: 10_000)
        let directories = 40
        let server = try FaultServer()
        let agent = try context.agent(remote: server.url)
        agent.launcher = Self.launcher(limit, at: value)
        for index in 0..<directories { try Files.makeDirectory(agent.path("d\(index)")) }
        do {
            try await agent.start()
        } catch {
            findings.expect(false, "\(limit) = \(value): \(error)")
            return "\(limit) = \(value): did not start"
        }
        var judge = Judge()
        for index in 0..<files {
            let name = "d\(index % directories)/\(index).jpg"
            judge.stands(try agent.drop(name, .jpeg, size: 3000, seed: context.seed &+ UInt64(index)), at: name)
        }
        try await agent.outcomes(judge, timeout: context.patience)
        // The agent is otherwise idle, so this measures only the polling.
        var slowest = Duration.zero
        for probe in 0..<3 {
            let name = "d\(directories - 1 - probe)/probe.jpg"
            judge.stands(try agent.drop(name, .jpeg, size: 3000, seed: UInt64(probe)), at: name)
            let begun = ContinuousClock.now
            try await Poll.until("a sidecar for \(name)", lastState: { agent.log }) { try agent.sidecar(name) != nil }
            slowest = max(slowest, ContinuousClock.now - begun)
        }
        try await agent.outcomes(judge, timeout: context.patience)
        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        findings.add(verdict)
        // The limit leaves a margin for a machine with other load.
        findings.expect(slowest < context.atMost(.seconds(7)), "\(limit): it took \(slowest) until a file was noticed")
        // Only the agent can tell which of the two sysctls stops it: the user's or the namespace's.
        let sysctls = [limit, limit.replacing("inotify", with: "user")]
        let warned = (agent.program?.standardError ?? "").split(separator: "\n").contains { line in
            (line.contains("warning") || line.contains("error")) && sysctls.contains { line.contains($0) }
        }
        findings.expect(warned, "\(limit): no warning says which limit to raise\n\(agent.log)")
        return
            "\(limit) = \(value): \(files) files, then one noticed after "
            + "at most \(Int(slowest / .milliseconds(1))) ms: \(verdict.summary)"
    }
}
