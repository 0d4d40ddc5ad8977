import EndToEndSupport
import TestSupport

/// R1: kills the agent at random moments under a mixed load.
struct RandomKills: Trial {
    var kind = RemoteKind.filesection

    var name: String { "R1" + kind.suffix }
    let title = "agent killed at random"
    let bar = "0 lost, 0 duplicates, 0 mixtures; at most kills × fragments in flight are sent again"

    // Below the defaults, so that the limit on repeated fragments is low enough to catch an agent that starts files
    // over.
    private let filesInFlight = 3
    private let fragmentsInFlight = 2
    /// The most fragments in flight of all files together, with the default `fragments_in_flight = "auto"`, which the
    /// second half of the kills uses.
    private let automaticMost = 32

    func run(_ context: TrialContext) async throws -> Outcome {
        let kills = context.count(quick: 8, usual: 40, long: 2000)
        var random = context.random
        let load = MixedLoad(
            small: max(40, kills * 2), duplicates: max(8, kills / 4),
            large: context.count(quick: 16_000_000, usual: 64_000_000, long: 300_000_000), random: &random)
        // Quick enough that fragments go in groups.
        let server = try kind.server(delay: .milliseconds(kind == .filesection ? 5 : 20), takesGroups: true)
        let limits: Settings = [
            "upload.files_in_flight": .integer(filesInFlight),
            "upload.fragments_in_flight": .integer(fragmentsInFlight),
        ]
        let agent = try kind.agent(context, of: server.url, limits)
        var judge = Judge()
        var findings = Findings()
        var pending = load.drops[...]
        var repeatedBefore = 0
        let stride = max(1, load.fragments / (kills + 2))

        for kill in 1...kills {
            if kill == kills / 2 + 1 {
                repeatedBefore = server.repeatedFragments
                try agent.configure(["upload.fragments_in_flight": "auto"])
            }
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
        let most = filesInFlight * fragmentsInFlight * kind.fragmentsPerRequest
        let automaticMost = automaticMost * kind.fragmentsPerRequest
        // The fragments of the last kill in the first half go out again in the second half.
        let bounds = (kills / 2 * most, (kills - kills / 2) * automaticMost + most)
        let repeated = (repeatedBefore, server.repeatedFragments - repeatedBefore)
        findings.add(verdict)
        findings.expect(
            repeated.0 <= bounds.0 && repeated.1 <= bounds.1,
            "\(repeated.0) and \(repeated.1) fragments sent again, at most \(bounds.0) and \(bounds.1) were in flight")
        let requests = (server as? FaultServer).map { server in
            "; \(server.arrivedFragments) fragments in \(server.count(.upload)) requests"
        }
        return findings.outcome(
            "\(kills) kills, \(load.drops.count) files: \(verdict.summary); \(repeated.0) fragments sent again (bound "
                + "\(bounds.0)), with automatic fragments in flight \(repeated.1) (bound \(bounds.1))"
                + (requests ?? ""))
    }

    /// Waits for the moment of a kill: usually while the agent sends, sometimes while the agent starts, scans or
    /// hashes.
    private func moment(_ stride: Int, server: any UploadServer, random: inout SeededRandom) async throws {
        if Int.random(in: 0..<4, using: &random) == 0 {
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...400, using: &random)))
            return
        }
        let goal = server.arrivedFragments + Int.random(in: 1...stride, using: &random)
        do {
            try await Poll.until("fragment \(goal)", timeout: .seconds(5), every: .milliseconds(1)) {
                server.arrivedFragments >= goal
            }
        } catch is Poll.TimedOut {}
    }
}
