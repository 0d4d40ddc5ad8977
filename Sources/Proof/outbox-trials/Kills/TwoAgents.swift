import EndToEndSupport
import Foundation
import Glibc
import TestSupport

/// R20: two agents race for one state directory; then an agent starts right after a kill.
struct TwoAgents: Trial {
    let name = "R20"
    let title = "two agents on one state directory"
    let bar =
        "one agent runs, the other exits with 75 and names its pid; a restart right after a kill takes at most 1 s"
    let company = Company.inQuickRuns

    func run(_ context: TrialContext) async throws -> Outcome {
        let races = context.count(quick: 5, usual: 20, long: 200)
        let server = try FaultServer()
        let agent = try context.agent(remote: server.url)
        var random = context.random
        var judge = Judge()
        var findings = Findings()
        var restarts: [Duration] = []

        for race in 0..<races {
            let name = "\(race).jpg"
            judge.stands(try agent.drop(name, .jpeg, size: 5000, seed: context.seed &+ UInt64(race)), at: name)
            // Starts both at the same moment, or the second while the first starts or runs.
            var rivals = [try rival(0, of: agent, in: context.place)]
            try await Task.sleep(for: .milliseconds(race % 2 == 0 ? 0 : Int.random(in: 0...600, using: &random)))
            rivals.append(try rival(1, of: agent, in: context.place))
            let loser = try await Poll.value("one of two agents to give up", timeout: .seconds(120)) {
                rivals.first { $0.ending != nil }
            }
            let owner = rivals.first { $0.pid != loser.pid }
            findings.expect(
                loser.ending == .exited(75), "the second agent ended with \(String(describing: loser.ending))")
            let named = loser.errorTail().contains(String(owner?.pid ?? 0))
            findings.expect(named, "the second agent does not name pid \(owner?.pid ?? 0): \(loser.errorTail())")
            try await Poll.until("the owner's health", timeout: .seconds(120)) {
                agent.isAnswering
            }
            findings.expect(owner?.ending == nil, "the owner ended: \(owner?.errorTail() ?? "")")
            for program in rivals { program.kill(SIGKILL) }
            for program in rivals { try await program.wait() }

            let begun = ContinuousClock.now
            try await agent.start()
            restarts.append(ContinuousClock.now - begun)
            try await agent.kill()
        }
        try await agent.start()
        try await agent.outcomes(judge, timeout: context.patience)
        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        findings.add(verdict)
        restarts.sort()
        let median = restarts[restarts.count / 2]
        // On a busy machine, a single start may be slow without a fault of the agent.
        findings.expect(
            median < context.atMost(.seconds(3)),
            "half the restarts took longer than \(Self.milliseconds(median)) ms")
        return findings.outcome(
            "\(races) races, one owner each; \(verdict.summary); restart after a kill median "
                + "\(Self.milliseconds(median)) ms, slowest \(Self.milliseconds(restarts[restarts.count - 1])) ms")
    }

    private func rival(_ number: Int, of agent: Agent, in place: String) throws -> Program {
        let prefix = "\(place)/rival-\(number)"
        // Each race reads only its own messages.
        unlink(prefix + ".err")
        return try Program(
            "outbox", ["run", "--config", agent.config], environment: agent.environment,
            directory: agent.directory.path, outputPrefix: prefix)
    }

    private static func milliseconds(_ duration: Duration) -> Int { Int(duration / .milliseconds(1)) }
}
