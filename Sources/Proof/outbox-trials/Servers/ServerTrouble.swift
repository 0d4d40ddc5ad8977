import EndToEndSupport
import TestSupport

/// R5: one server is killed and restarted; another server forgets uploads.
struct ServerTrouble: Trial {
    var kind = RemoteKind.filesection

    var name: String { "R5" + kind.suffix }
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
        let server = try await kind.killableServer(context)
        // The limit spreads the load over all kills, at about one kill per second.
        let agent = try kind.agent(
            context, of: server.url, ["upload.bandwidth_limit": .string("\(total / kills / 1024)KiB")])
        try await agent.start()
        var judge = Judge()
        for drop in load.drops { judge.stands(try MixedLoad.put(drop, into: agent), at: drop.name) }
        for _ in 0..<kills {
            try await Task.sleep(for: .milliseconds(Int.random(in: 100...1200, using: &random)))
            try await server.kill()
            // Sometimes the agent gets no connection, sometimes it does not notice more than a broken one.
            if Bool.random(using: &random) { try await Task.sleep(for: .milliseconds(300)) }
            try await server.start()
        }
        // The rest may run at full speed.
        try await agent.stop()
        try agent.configure(["upload.bandwidth_limit": "0"])
        try await agent.start()
        try await agent.outcomes(judge, timeout: context.patience)
        let verdict = try judge.verdict(stored: server.contents()) { try agent.sidecar($0) }
        findings.add(verdict)
        try findings.expectAllDone(judge, agent)
        return "\(kills) kills, \(load.drops.count) files: \(verdict.summary)"
    }

    private func forgets(_ context: TrialContext, _ findings: inout Findings) async throws -> String {
        let goal = context.count(quick: 5, usual: 20, long: 200)
        var random = context.random
        let server = try kind.server(delay: .milliseconds(10))
        let agent = try kind.agent(context, of: server.url, ["upload.fragments_in_flight": 2])
        try await agent.start()
        var judge = Judge()
        var forgotten: Set<String> = []
        var count = 0
        var index = 0
        var keys: [String: String] = [:]
        while count < goal && index < goal * 20 {
            let names = [index, index + 1].map { "forgotten/\($0).jpg" }
            for name in names {
                let size = Int.random(in: kind.severalFragments...kind.severalFragments * 3, using: &random)
                keys[name] = try agent.drop(name, .jpeg, size: size, seed: random.next())
                judge.stands(keys[name] ?? "", at: name)
                index += 1
            }
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...200, using: &random)))
            var victim: String?
            try await Poll.until(
                "an upload on its way, or none of this round any more", timeout: context.patience,
                every: .milliseconds(2),
                lastState: { agent.log }
            ) {
                victim = server.forgetUnfinished()
                return try victim != nil || judge.unfinished(among: names) { try agent.sidecar($0) }.isEmpty
            }
            for (name, key) in keys where try agent.sidecar(name)?.state == .done {
                server.archive(key)
                keys[name] = nil
            }
            guard let victim else { continue }
            forgotten.insert(victim)
            count += 1
        }
        try await agent.outcomes(judge, timeout: context.patience)
        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        findings.add(verdict)
        try findings.expectAllDone(judge, agent)
        findings.expect(count == goal, "only \(count) uploads could be forgotten")
        for (key, bytes) in server.repetitions where !forgotten.contains(key) {
            findings.expect(bytes == 0, "\(key) was not forgotten, and \(bytes) of its bytes were sent again")
        }
        return "\(count) forgotten of \(index) files: \(verdict.summary)"
    }
}
