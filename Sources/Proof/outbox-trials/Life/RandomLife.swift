import EndToEndSupport
import Foundation
import TestSupport

/// R29: random acts and faults, as in a year of an outbox. A model predicts the outcome.
struct RandomLife: Trial {
    let name = "R29"
    let title = "random life against a model"
    let bar =
        "0 files or posts lost, 0 duplicates, 0 mixtures; cancelled files stay cancelled; no sidecar or temporary file is left over; no "
        + "descriptor leaks"

    func run(_ context: TrialContext) async throws -> Outcome {
        let acts = context.count(quick: 70, usual: 500, long: 10_000)
        var findings = Findings()
        var life = try Life(context)
        try await life.agent.start()
        for _ in 0..<acts {
            do {
                try await life.act()
            } catch {
                findings.expect(false, "act \(life.acts): \(error)")
                try life.writeServerLog()
                return findings.outcome("ended by act \(life.acts), \(life.recent)")
            }
        }
        try await life.calmDown()
        try await life.agent.outcomes(life.model.judge, timeout: context.patience)
        for complaint in life.complaints { findings.expect(false, complaint) }
        try await judgeEnd(life, context, &findings)
        var stored = life.server.stored
        stored.finished = stored.finished.filter { !life.model.returned.contains($0) } + life.model.returned
        let verdict = try life.model.judge.verdict(stored: stored) { try life.agent.sidecar($0) }
        findings.add(verdict)
        try life.writeServerLog()
        return findings.outcome("\(life.summary): \(verdict.summary)")
    }

    /// Checks the conditions that must hold when the agent has finished all work.
    private func judgeEnd(_ life: Life, _ context: TrialContext, _ findings: inout Findings) async throws {
        let agent = life.agent
        for path in life.model.cancelled {
            let sidecar = try agent.sidecar(path)
            findings.expect(
                sidecar?.state == .cancelled, "\(path) was cancelled, and is \(sidecar?.brief ?? "without a sidecar")")
        }
        var posts = PostJudge()
        for (directory, files) in life.model.posts { posts.stands(Set(files.values), in: directory) }
        do {
            try await Poll.until("posts", timeout: context.patience, every: .milliseconds(100)) {
                try posts.directories.allSatisfy { posts.isSettled($0, try agent.source($0)) }
            }
        } catch is Poll.TimedOut {
            for directory in posts.directories {
                let sidecar = try agent.source(directory)
                findings.expect(
                    posts.isSettled(directory, sidecar), "post lost: \(directory): \(sidecar?.brief ?? "no sidecar")")
            }
        }
        life.passRetention()
        var leftovers: [String] = []
        do {
            try await Poll.until("no leftovers", timeout: context.atMost(.seconds(60)), every: .milliseconds(200)) {
                leftovers = life.leftovers
                return leftovers.isEmpty
            }
        } catch is Poll.TimedOut {
            for name in leftovers {
                let sidecar = name.hasSuffix(".outbox.json") ? try agent.sidecar(named: name) : nil
                findings.expect(false, "left over: \(name), \(sidecar.map { "of \($0.path): \($0.brief)" } ?? "")")
            }
        }
        let open = life.descriptors
        let ending = try await agent.stop()
        findings.expect(
            ending == .exited(0), "SIGTERM ended the agent with \(String(describing: ending))\n\(agent.log)")
        try await agent.start()
        try await agent.outcomes(life.model.judge, timeout: context.patience)
        // Connections and picture workers come and go; a leak grows with every act.
        let fresh = life.descriptors
        findings.expect(open <= fresh + 24, "\(open) descriptors were open at the end, \(fresh) after a fresh start")
    }
}
