import EndToEndSupport
import TestSupport

/// R13: the disk is full, or fails, at any write below the state directory and at any sidecar.
struct FailingDisk: Trial {
    let name = "R13"
    let title = "disk full and I/O errors at state writes, and on the receiver's disk"
    let bar = "no crash; the agent continues within 10 s once there is space; 0 lost, 0 duplicates"

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
        let limit = context.atMost(.seconds(10))
        var slowest = Duration.zero
        var spared = 0

        for round in 0..<rounds {
            // A new rule needs a new start; several rounds share one start.
            let isBurst = round / 4 % 2 == 0
            if round % 4 == 0 {
                if agent.program != nil { try await agent.stop() }
                // Fails either every call during the failure, or a few calls in the middle.
                let first = Int.random(in: 1...20, using: &random)
                let rules = rules(
                    round / 8 % 2 == 0 ? .noSpace : .inputOutputError, isBurst ? 1...1_000_000 : first...first + 2)
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
            if isBurst {
                // Two files are still waiting, so the agent writes sooner or later.
                do {
                    try await Poll.until("a call that failed") { board.carriedOut > before }
                } catch is Poll.TimedOut { spared += 1 }
            }
            try await Task.sleep(for: .milliseconds(Int.random(in: 300...1500, using: &random)))
            board.failing = false
            let begun = ContinuousClock.now
            let complaints = findings.complaints.count
            do {
                try await agent.outcomes(judge, timeout: limit)
                slowest = max(slowest, ContinuousClock.now - begun)
                for path in try judge.unfinished(among: judge.paths, sidecar: { try agent.sidecar($0) }) {
                    let sidecar = try agent.sidecar(path)?.brief ?? "no sidecar"
                    findings.expect(false, "round \(round), \(limit) after there was space again: \(path): \(sidecar)")
                }
            } catch {
                findings.expect(false, "round \(round): \(error)")
            }
            // A fault of one round must not count against the next.
            if findings.complaints.count > complaints {
                try await agent.kill()
                try await agent.start()
                try await agent.outcomes(judge, timeout: context.patience)
            }
        }
        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        findings.add(verdict)
        findings.expect(spared <= rounds / 8, "\(spared) rounds had no write that could fail")
        try await agent.stop()
        let receiver: String
        do {
            receiver = try await ReceiverDisk(context: context).run(&findings)
        } catch let missing as Missing {
            receiver = "no disk of its own for the receiver: \(missing)"
        }
        return findings.outcome(
            "\(rounds) times, \(board.carriedOut) calls failed: \(verdict.summary); through again after at most "
                + "\(Int(slowest / .milliseconds(1))) ms; \(receiver)")
    }

    private func rules(_ action: FaultBoard.Rule.Action, _ calls: ClosedRange<Int>) -> [FaultBoard.Rule] {
        [
            .init(action, FaultBoard.Rule.writes, calls: calls, of: "*/state/*"),
            .init(.noSpace, Self.names, calls: calls, of: "*/state/*"),
            .init(.noSpace, FaultBoard.Rule.writes + Self.names, calls: calls, of: "*/outbox/*"),
        ]
    }
}
