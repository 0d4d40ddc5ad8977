import EndToEndSupport
import TestSupport

/// R1: kills the agent at random moments under a mixed load.
struct RandomKills: Trial {
    let name = "R1"
    let title = "agent killed at random"
    let bar = "0 lost, 0 duplicates, 0 mixtures; at most kills × fragments in flight are sent again"

    // Below the defaults, so that the limit on repeated fragments is low enough to catch an agent that starts files
    // over.
    private let filesInFlight = 3
    private let fragmentsInFlight = 2

    func run(_ context: TrialContext) async throws -> Outcome {
        let kills = context.count(quick: 8, usual: 40, long: 2000)
        var random = context.random
        let load = MixedLoad(
            small: max(40, kills * 2), duplicates: max(8, kills / 4),
            large: context.count(quick: 16_000_000, usual: 64_000_000, long: 300_000_000), random: &random)
        let server = try FaultServer(uploadDelay: .milliseconds(20))
        let agent = try context.agent(
            remote: server.url,
            [
                "upload.files_in_flight": .integer(filesInFlight),
                "upload.fragments_in_flight": .integer(fragmentsInFlight),
            ])
        var judge = Judge()
        var findings = Findings()
        var pending = load.drops[...]
        let stride = max(1, load.fragments / (kills + 2))

        for kill in 1...kills {
            try agent.launch()
            let portion = (pending.count + kills - kill) / (kills - kill + 1)
            for drop in pending.prefix(portion) { judge.stands(try MixedLoad.put(drop, into: agent), at: drop.name) }
            pending = pending.dropFirst(portion)
            try await moment(stride, server: server, random: &random)
            findings.expect(agent.program?.ending == nil, "the agent ended by itself before kill \(kill)\n\(agent.log)")
            try await agent.kill()
        }
        try await agent.start()
        try await agent.outcomes(judge, timeout: context.patience)

        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        let bound = kills * filesInFlight * fragmentsInFlight
        let repeated = server.store.repeated
        findings.add(verdict)
        findings.expect(repeated <= bound, "\(repeated) fragments sent again, at most \(bound) were in flight")
        return findings.outcome(
            "\(kills) kills, \(load.drops.count) files: \(verdict.summary); "
                + "\(repeated) fragments sent again (bound \(bound))")
    }

    /// Waits for the moment of a kill: usually while the agent sends, sometimes while the agent starts, scans or
    /// hashes.
    private func moment(_ stride: Int, server: FaultServer, random: inout SeededRandom) async throws {
        if Int.random(in: 0..<4, using: &random) == 0 {
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...400, using: &random)))
            return
        }
        let goal = server.count(.upload) + Int.random(in: 1...stride, using: &random)
        do {
            try await Poll.until("fragment \(goal)", timeout: .seconds(5), every: .milliseconds(1)) {
                server.count(.upload) >= goal
            }
        } catch is Poll.TimedOut {}
    }
}
