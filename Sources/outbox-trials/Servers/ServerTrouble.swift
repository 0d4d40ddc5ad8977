import EndToEndSupport
import TestSupport

/// R5: one server is killed and restarted; another server forgets uploads.
struct ServerTrouble: Trial {
    let name = "R5"
    let title = "server killed, server that forgets uploads"
    let bar = "0 lost, 0 duplicates; only forgotten uploads start over"

    func run(_ context: TrialContext) async throws -> Outcome {
        var findings = Findings()
        let killed = try await kills(context, &findings)
        let forgotten = try await forgets(context, &findings)
        return findings.outcome("\(killed); \(forgotten)")
    }

    private func kills(_ context: TrialContext, _ findings: inout Findings) async throws -> String {
        let kills = context.count(quick: 3, usual: 12, long: 200)
        var random = context.random
        let load = MixedLoad(
            small: max(20, kills * 2), duplicates: max(4, kills / 4),
            large: context.count(quick: 8_000_000, usual: 32_000_000, long: 300_000_000), random: &random)
        let total = load.drops.reduce(0) { $0 + $1.size }
        let receiver = try await context.receiver()
        // The limit spreads the load over all kills, at about one kill per second.
        let agent = try context.agent(
            remote: receiver.url, ["upload.bandwidth_limit": .string("\(total / kills / 1024)KiB")])
        try await agent.start()
        var judge = Judge()
        for drop in load.drops { judge.stands(try MixedLoad.put(drop, into: agent), at: drop.name) }
        for _ in 0..<kills {
            try await Task.sleep(for: .milliseconds(Int.random(in: 100...1200, using: &random)))
            try await receiver.kill()
            try await receiver.start()
        }
        // The rest may run at full speed.
        try await agent.stop()
        try agent.configure(["upload.bandwidth_limit": "0"])
        try await agent.start()
        try await agent.outcomes(judge, timeout: context.patience)
        let verdict = try judge.verdict(stored: receiver.stored()) { try agent.sidecar($0) }
        findings.add(verdict)
        return "\(kills) kills, \(load.drops.count) files: \(verdict.summary)"
    }

    private func forgets(_ context: TrialContext, _ findings: inout Findings) async throws -> String {
        let goal = context.count(quick: 5, usual: 20, long: 200)
        var random = context.random
        let server = try FaultServer(uploadDelay: .milliseconds(10))
        let agent = try context.agent(remote: server.url, ["upload.fragments_in_flight": 2])
        try await agent.start()
        var judge = Judge()
        var forgotten: Set<String> = []
        var count = 0
        var index = 0
        while count < goal && index < goal * 20 {
            for _ in 0..<2 {
                let name = "forgotten/\(index).jpg"
                let size = Int.random(in: 1_000_000...4_000_000, using: &random)
                judge.stands(try agent.drop(name, .jpeg, size: size, seed: random.next()), at: name)
                index += 1
            }
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...200, using: &random)))
            var victim: (key: String, value: SectionStore.Upload)?
            try await Poll.until(
                "an upload on its way, or none any more", timeout: context.patience, every: .milliseconds(2),
                lastState: { agent.log }
            ) {
                let store = server.store
                victim = store.uploads.filter { !$0.value.finished && !$0.value.received.isEmpty }
                    .min { $0.key < $1.key }
                return victim != nil || store.finished.count >= index
            }
            guard let victim else { continue }
            server.change { $0.forget(victim.key) }
            forgotten.insert(victim.value.md5)
            count += 1
        }
        try await agent.outcomes(judge, timeout: context.patience)
        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        findings.add(verdict)
        findings.expect(count == goal, "only \(count) uploads could be forgotten")
        for (key, arrivals) in server.store.arrivals where !forgotten.contains(key) {
            let again = arrivals.values.filter { $0 > 1 }.count
            findings.expect(again == 0, "\(key) was not forgotten, and \(again) of its fragments were sent again")
        }
        return "\(count) forgotten of \(index) files: \(verdict.summary)"
    }
}
