import EndToEndSupport
import TestSupport

/// R17: reads sidecars continuously while the agent is killed.
struct SidecarReads: Trial {
    let name = "R17"
    let title = "sidecars read during kills"
    let bar = "no sidecar is torn; no temporary file is left behind"

    func run(_ context: TrialContext) async throws -> Outcome {
        let goal = context.count(quick: 10_000, usual: 60_000, long: 1_000_000)
        let kills = context.count(quick: 5, usual: 15, long: 200)
        var random = context.random
        let server = try FaultServer(uploadDelay: .milliseconds(5))
        let agent = try context.agent(remote: server.url)
        var judge = Judge()
        var findings = Findings()
        var reads = 0

        for kill in 0..<kills {
            try agent.launch()
            for index in 0..<4 {
                let name = "\(kill)-\(index).jpg"
                judge.stands(try agent.drop(name, .jpeg, size: 600_000, seed: random.next()), at: name)
            }
            // Only the sidecars of the last rounds change.
            let names = judge.paths.suffix(40)
            let share = goal / kills
            let until = reads + Int.random(in: share / 2...share * 3 / 2, using: &random)
            while reads < until {
                for name in names {
                    do {
                        if try agent.sidecar(name) != nil { reads += 1 }
                    } catch {
                        findings.expect(false, "\(name) is torn: \(error)")
                        reads += 1
                    }
                }
                try await Task.sleep(for: .microseconds(100))
            }
            try await agent.kill()
        }
        try await agent.start()
        try await agent.outcomes(judge, timeout: context.patience)

        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        findings.add(verdict)
        var leftovers: [String] = []
        do {
            // The agent may be rewriting a sidecar or cleaning up after the last kill.
            try await Poll.until("the end of temporary files") {
                leftovers = Files.tree(agent.outbox).filter { !$0.hasSuffix(".jpg") && !$0.hasSuffix(".outbox.json") }
                return leftovers.isEmpty
            }
        } catch is Poll.TimedOut {}
        findings.expect(leftovers.isEmpty, "temporary files left behind: \(leftovers)")
        return findings.outcome("\(reads) reads over \(kills) kills, none torn; \(verdict.summary)")
    }
}
