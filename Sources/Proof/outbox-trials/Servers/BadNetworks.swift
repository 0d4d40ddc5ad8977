import EndToEndSupport
import TestSupport

/// R10: the network between agent and server resets connections, swallows or delays bytes, loses packets, fails and
/// returns.
struct BadNetworks: Trial {
    let name = "R10"
    let title = "bad networks"
    let bar =
        "the agent notices a stall within stall_timeout, and continues within 5 s of the network's return; 0 lost, 0 duplicates"
    let company = Company.inQuickRuns

    func run(_ context: TrialContext) async throws -> Outcome {
        var findings = Findings()
        var parts = [
            try await resets(context, &findings), try await blackHoles(context, &findings),
            try await crawl(context, &findings),
        ]
        do {
            let link = try await NetworkLink()
            do {
                parts += try await LinkTrials(context: context, link: link).run(&findings)
            } catch {
                await link.remove()
                throw error
            }
            await link.remove()
        } catch let missing as NetworkLink.Missing {
            parts.append("the network link was skipped: \(missing.description)")
        }
        return findings.outcome(parts.joined(separator: "; "))
    }

    private func judged(
        _ judge: Judge, _ server: FaultServer, _ agent: Agent, _ findings: inout Findings
    ) throws -> String {
        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        findings.add(verdict)
        return verdict.summary
    }

    private func resets(_ context: TrialContext, _ findings: inout Findings) async throws -> String {
        let resets = context.count(quick: 5, usual: 15, long: 300)
        var random = context.random
        let server = try FaultServer(uploadDelay: .milliseconds(30))
        let proxy = try FaultProxy(to: server.port)
        let agent = try context.agent(remote: "http://127.0.0.1:\(proxy.port)")
        try await agent.start()
        var judge = Judge()
        for index in 0..<resets {
            let name = "reset/\(index).jpg"
            let size = Int.random(in: 500_000...3_000_000, using: &random)
            judge.stands(try agent.drop(name, .jpeg, size: size, seed: random.next()), at: name)
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...400, using: &random)))
            proxy.resetAll()
        }
        try await agent.outcomes(judge, timeout: context.patience)
        return "\(resets) resets: \(try judged(judge, server, agent, &findings))"
    }

    private func blackHoles(_ context: TrialContext, _ findings: inout Findings) async throws -> String {
        let holes = context.count(quick: 1, usual: 3, long: 100)
        var random = context.random
        let server = try FaultServer()
        let proxy = try FaultProxy(to: server.port)
        let limit = Duration.seconds(2)
        // Which of the two limits applies depends on how many bytes the kernel buffered for the agent.
        let agent = try context.agent(
            remote: "http://127.0.0.1:\(proxy.port)",
            ["upload.stall_timeout": "2s", "upload.reply_timeout": "2s", "upload.bandwidth_limit": "2MiB"])
        try await agent.start()
        var judge = Judge()
        var slowest = Duration.zero
        for index in 0..<holes {
            let name = "hole/\(index).jpg"
            let size = Int.random(in: 3_000_000...4_000_000, using: &random)
            // The server switches the network off: otherwise the upload might end before the trial sees its start.
            server.setFaults { endpoint, _ in
                if endpoint == .upload { proxy.condition = .blackHole }
                return nil
            }
            judge.stands(try agent.drop(name, .jpeg, size: size, seed: random.next()), at: name)
            try await Poll.until("a first fragment", lastState: { agent.log }) { proxy.condition == .blackHole }
            let begun = ContinuousClock.now
            try await agent.reached(name, .waiting, timeout: .seconds(120))
            slowest = max(slowest, ContinuousClock.now - begun)
            server.setFaults { _, _ in nil }
            proxy.condition = .good
            proxy.resetAll()
            try await agent.outcomes(judge, timeout: context.patience)
        }
        findings.expect(
            slowest < context.atMost(limit + .seconds(6)),
            "a stall was noticed after \(slowest) with a limit of \(limit)")
        return "\(holes) black holes, noticed after at most \(Int(slowest / .milliseconds(1))) ms of 2000: "
            + (try judged(judge, server, agent, &findings))
    }

    private func crawl(_ context: TrialContext, _ findings: inout Findings) async throws -> String {
        let server = try FaultServer()
        let proxy = try FaultProxy(to: server.port)
        // The default limits: the kernel accepts bytes in portions that may last seconds at this speed.
        let agent = try context.agent(remote: "http://127.0.0.1:\(proxy.port)")
        try await agent.start()
        proxy.condition = .slow(5_000)
        var judge = Judge()
        let size = context.count(quick: 15_000, usual: 40_000, long: 600_000)
        judge.stands(try agent.drop("slow.jpg", .jpeg, size: size), at: "slow.jpg")
        try await agent.outcomes(judge, timeout: context.patience)
        findings.expect(server.count(.upload) == 1, "\(server.count(.upload)) attempts at a fragment that only crawls")
        return "\(size / 1000) KB at 5 KB/s in \(server.count(.upload)) attempts: "
            + (try judged(judge, server, agent, &findings))
    }
}
