import EndToEndSupport
import TestSupport

/// R13: the disk is full, or fails, at any write below the state directory and at any sidecar.
struct FailingDisk: Trial {
    let name = "R13"
    let title = "disk full and I/O errors at state writes"
    let bar = "no crash; goes on within 10 s of space; 0 lost, 0 duplicates"

    private static let writes = ["write", "writev", "pwrite", "pwritev", "fsync", "fdatasync", "ftruncate"]
    private static let names = ["create", "rename"]

    func run(_ context: TrialContext) async throws -> Outcome {
        let rounds = context.count(quick: 8, usual: 24, long: 500)
        var random = context.random
        let server = try FaultServer(uploadDelay: .milliseconds(5))
        let agent = try context.agent(remote: server.url, ["upload.fragments_in_flight": 2])
        let board = try FaultBoard(in: context.place)
        let usual = agent.environment
        var judge = Judge()
        var findings = Findings()
        var slowest = Duration.zero
        var spared = 0

        for round in 0..<rounds {
            // Another rule needs another start; several rounds share one.
            if round % 4 == 0 {
                if agent.program != nil { try await agent.stop() }
                let rules = [
                    FaultBoard.Rule(
                        round % 8 == 0 ? .noSpace : .inputOutputError, Self.writes, calls: 1...1_000_000,
                        of: "*/state/*"),
                    FaultBoard.Rule(.noSpace, Self.names, calls: 1...1_000_000, of: "*/state/*"),
                    FaultBoard.Rule(.noSpace, Self.writes + Self.names, calls: 1...1_000_000, of: "*/outbox/*"),
                ]
                agent.environment = usual.merging(board.environment(rules)) { $1 }
                try await agent.start()
            }
            let before = board.carriedOut
            for number in 0..<4 {
                let name = "\(round)-\(number).jpg"
                let size = Int.random(in: 1000...3_000_000, using: &random)
                judge.stands(try agent.drop(name, .jpeg, size: size, seed: random.next()), at: name)
                if number == 1 {
                    try await Task.sleep(for: .milliseconds(Int.random(in: 0...400, using: &random)))
                    board.failing = true
                }
            }
            try await Task.sleep(for: .milliseconds(Int.random(in: 300...1500, using: &random)))
            if board.carriedOut == before { spared += 1 }
            board.failing = false
            let begun = ContinuousClock.now
            do {
                try await agent.outcomes(judge, timeout: .seconds(40))
            } catch {
                findings.expect(false, "round \(round): \(error)")
                agent.environment = usual
                try await agent.start()
                try await agent.outcomes(judge, timeout: .seconds(40))
            }
            slowest = max(slowest, ContinuousClock.now - begun)
        }
        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        findings.add(verdict)
        findings.expect(slowest < .seconds(10), "it took \(slowest) to be through once there was space again")
        findings.expect(spared < rounds / 2, "\(spared) of \(rounds) rounds met no write that could fail")
        return findings.outcome(
            "\(rounds) times, \(board.carriedOut) calls failed: \(verdict.summary); through again after at most "
                + "\(Int(slowest / .milliseconds(1))) ms")
    }
}
