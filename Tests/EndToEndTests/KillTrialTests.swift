import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

/// TRIALS.md R1 and R5: `kill -9` at random moments under a mixed load.
///
/// `OUTBOX_TRIAL_KILLS` and `OUTBOX_TRIAL_RECEIVER_KILLS` set how often, `OUTBOX_TRIAL_LARGE=1` makes the large file
/// 300 MB, `OUTBOX_TRIAL_SEED` repeats a run.
@Suite("Kill trials", .heavy, .serialized)
struct KillTrialTests {
    /// Fewer than the defaults: the bound on what is sent again is then tight enough to catch an agent that
    /// starts files over.
    private let filesInFlight = 3
    private let fragmentsInFlight = 2

    @Test("an agent killed at random loses nothing, doubles nothing, mixes nothing")
    func agentKills() async throws {
        let kills = Trial.number("OUTBOX_TRIAL_KILLS") ?? 6
        var trial = Trial("agent kills")
        let seed = "seed \(trial.seed)"
        let load = MixedLoad(small: 60, duplicates: 12, large: Trial.largeSize, random: &trial.random)
        let server = try FaultServer(uploadDelay: .milliseconds(20))
        let agent = try Agent(
            remote: server.url,
            [
                "upload.files_in_flight": .integer(filesInFlight),
                "upload.fragments_in_flight": .integer(fragmentsInFlight),
            ])
        let between = max(1, load.fragments / (kills + 2))
        var pending = load.drops[...]
        var keys: Set<String> = []

        for kill in 1...max(kills, 1) where kills > 0 {
            try agent.launch()
            for drop in pending.prefix(load.drops.count / kills + 1) {
                keys.insert(try MixedLoad.put(drop, into: agent))
            }
            pending = pending.dropFirst(load.drops.count / kills + 1)
            if Int.random(in: 0..<4, using: &trial.random) == 0 {
                // Early: while it starts, scans or hashes.
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...400, using: &trial.random)))
            } else {
                let goal = server.count(.upload) + Int.random(in: 1...between, using: &trial.random)
                try? await Poll.until("fragment \(goal)", timeout: .seconds(5), every: .milliseconds(1)) {
                    server.count(.upload) >= goal
                }
            }
            #expect(agent.program?.ending == nil, "kill \(kill), \(seed): it ended by itself\n\(agent.log)")
            try await agent.kill()
        }
        for drop in pending { keys.insert(try MixedLoad.put(drop, into: agent)) }
        try await agent.start()
        for drop in load.drops { try await agent.reached(drop.name, .done, timeout: .seconds(300)) }

        let store = server.store
        let bound = kills * filesInFlight * fragmentsInFlight
        print("agent kills: \(kills) kills, \(store.repeated) fragments sent again (at most \(bound)), \(seed)")
        #expect(Set(store.finished) == keys, "lost or unknown objects, \(seed)")
        #expect(store.finished.count == keys.count, "duplicates, \(seed)")
        #expect(store.mixtures == [], "\(seed)")
        #expect(store.violations == [], "\(seed)")
        #expect(store.repeated <= bound, "\(seed)")
    }

    @Test("a receiver killed at random loses nothing, doubles nothing, mixes nothing")
    func receiverKills() async throws {
        let kills = Trial.number("OUTBOX_TRIAL_RECEIVER_KILLS") ?? 4
        var trial = Trial("receiver kills")
        let seed = "seed \(trial.seed)"
        let load = MixedLoad(small: 40, duplicates: 8, large: Trial.largeSize, random: &trial.random)
        let total = load.drops.reduce(0) { $0 + $1.size }
        let receiver = try await Receiver.started()
        // The limit stretches the load over all kills, at about one a second.
        let agent = try Agent(
            remote: receiver.url, ["upload.bandwidth_limit": .string("\(total / max(kills, 1) / 1024)KiB")])
        try await agent.start()
        let keys = Set(try load.drops.map { try MixedLoad.put($0, into: agent) })

        for _ in 0..<kills {
            try await Task.sleep(for: .milliseconds(Int.random(in: 100...1200, using: &trial.random)))
            try await receiver.kill()
            try await receiver.start()
        }
        for drop in load.drops { try await agent.reached(drop.name, .done, timeout: .seconds(300)) }

        print("receiver kills: \(kills) kills, \(seed)")
        #expect(try receiver.objects() == keys.sorted(), "lost, doubled or mixed objects, \(seed)")
        #expect(try Set(receiver.files().values) == keys, "\(seed)")
    }

    @Test("sidecars are never half of one while the agent is killed")
    func sidecarsWhole() async throws {
        var trial = Trial("sidecars")
        let server = try FaultServer(uploadDelay: .milliseconds(5))
        let agent = try Agent(remote: server.url)
        var reads = 0
        for index in 0..<30 { try agent.drop("\(index).jpg", .jpeg, size: 600_000 + index) }
        for _ in 0..<4 {
            try agent.launch()
            let goal = reads + Int.random(in: 500...5000, using: &trial.random)
            while reads < goal {
                for index in 0..<30 where try agent.sidecar("\(index).jpg") == nil { await Task.yield() }
                reads += 30
            }
            try await agent.kill()
        }
        try await agent.start()
        for index in 0..<30 { try await agent.reached("\(index).jpg", .done) }
        let leftovers = Files.tree(agent.outbox).filter { !$0.hasSuffix(".jpg") && !$0.hasSuffix(".outbox.json") }
        #expect(leftovers == [], "temporary files that a kill left behind are cleared")
        #expect(server.finished.count == 30)
    }
}
