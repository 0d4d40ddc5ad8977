import EndToEndSupport
import Foundation
import TestSupport

/// The part of R10 with a network link of its own, which fails, changes its address and loses packets.
struct LinkTrials {
    let context: TrialContext
    let link: NetworkLink

    func run(_ findings: inout Findings) async throws -> [String] {
        [
            try await outages(&findings), try await longOutages(&findings), try await addressChanges(&findings),
            try await losses(&findings),
        ]
    }

    private func setUp(
        _ settings: Settings, uploadDelay: Duration = .milliseconds(20)
    ) async throws -> (FaultServer, FaultProxy, Agent) {
        let server = try FaultServer(uploadDelay: uploadDelay)
        let proxy = try FaultProxy(to: server.port, at: link.here, listener: link.socket())
        let agent = try context.agent(
            remote: "http://\(link.here):\(proxy.port)", settings.merging(["upload.fragments_in_flight": 2]) { $1 })
        agent.launcher = link.launcher
        try await agent.start()
        return (server, proxy, agent)
    }

    /// Blocks the network from the next fragment on, so that the link changes during an upload at any speed.
    private func holdAtFirstFragment(_ server: FaultServer, _ proxy: FaultProxy) {
        server.setFaults { endpoint, _ in
            if endpoint == .upload { proxy.condition = .blackHole }
            return nil
        }
    }

    private func release(_ server: FaultServer, _ proxy: FaultProxy) {
        server.setFaults { _, _ in nil }
        proxy.condition = .good
    }

    /// The pauses soon reach their ceiling of 15 s for a server that answered recently (at least 11 s with jitter).
    /// Only news of the network can make the agent try much earlier.
    private func outages(_ findings: inout Findings) async throws -> String {
        let outages = context.count(quick: 1, usual: 2, long: 50)
        var random = context.random
        let (server, proxy, agent) = try await setUp([
            "upload.retry_interval": "2m", "upload.stall_timeout": "2s", "upload.reply_timeout": "2s",
        ])
        defer { proxy.resetAll() }
        var judge = Judge()
        var slowest = Duration.zero
        for index in 0..<outages {
            let name = "outage-\(index).jpg"
            let size = Int.random(in: 8_000_000...10_000_000, using: &random)
            holdAtFirstFragment(server, proxy)
            judge.stands(try agent.drop(name, .jpeg, size: size, seed: random.next()), at: name)
            try await Poll.until("a first fragment", lastState: { agent.log }) { proxy.condition == .blackHole }
            try await link.down()
            release(server, proxy)
            // Wait until the next attempt is so far away that only news of the network explains an earlier one.
            try await agent.reached(name, .waiting, timeout: context.patience) { sidecar in
                Sidecar.date(sidecar.next_attempt_at).map { $0.timeIntervalSinceNow > 10 } ?? false
            }
            let before = server.records.count
            try await link.up()
            let begun = ContinuousClock.now
            try await Poll.until("a request after the network's return", timeout: .seconds(300)) {
                server.records.count > before
            }
            slowest = max(slowest, ContinuousClock.now - begun)
            try await agent.outcomes(judge, timeout: context.patience)
        }
        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        findings.add(verdict)
        findings.expect(
            slowest < context.atMost(.seconds(5.5)), "the upload continued only \(slowest) after the network's return")
        return "\(outages) outages, went on after at most \(Int(slowest / .milliseconds(1))) ms: \(verdict.summary)"
    }

    /// Uses the default limits, so that requests outlive the outage. TCP's own retransmission may come as long after
    /// the outage as the outage lasted. This affects the agent while it sends, and the server while the agent waits
    /// for a reply.
    private func longOutages(_ findings: inout Findings) async throws -> String {
        let outages = context.count(quick: 1, usual: 4, long: 40)
        var random = context.random
        let replyDelay = Duration.seconds(2)
        let (waiting, waitingProxy, patient) = try await setUp(
            ["upload.retry_interval": "2m", "upload.fragments_in_flight": 1], uploadDelay: replyDelay)
        let (sending, sendingProxy, busy) = try await setUp([
            "upload.retry_interval": "2m", "upload.bandwidth_limit": "1MiB",
        ])
        defer { for proxy in [waitingProxy, sendingProxy] { proxy.resetAll() } }
        var judges = (waiting: Judge(), sending: Judge())
        var slowest = Duration.zero
        for index in 0..<outages {
            let awaitsReply = index % 2 == 0
            let (server, agent) = awaitsReply ? (waiting, patient) : (sending, busy)
            let name = "long-outage-\(index).jpg"
            // Two fragments with replies of 2 s, or four seconds of sending.
            let size = awaitsReply ? 600_000 : 4_000_000
            let before = server.count(.upload)
            let key = try agent.drop(name, .jpeg, size: size, seed: random.next())
            if awaitsReply { judges.waiting.stands(key, at: name) } else { judges.sending.stands(key, at: name) }
            try await Poll.until("a first fragment", lastState: { agent.log }) { server.count(.upload) > before }
            try await link.down()
            try await Task.sleep(for: .milliseconds(Int.random(in: 14_000...25_000, using: &random)))
            let arrived = server.records.count
            try await link.up()
            let begun = ContinuousClock.now
            try await Poll.until("a request after the link's return", timeout: .seconds(300)) {
                server.records.count > arrived
            }
            slowest = max(slowest, ContinuousClock.now - begun)
            try await agent.outcomes(awaitsReply ? judges.waiting : judges.sending, timeout: context.patience)
        }
        var verdict = try judges.waiting.verdict(stored: waiting.stored) { try patient.sidecar($0) }
        findings.add(verdict)
        if outages > 1 {
            verdict = try judges.sending.verdict(stored: sending.stored) { try busy.sidecar($0) }
            findings.add(verdict)
        }
        findings.expect(
            slowest < context.atMost(.seconds(5)), "a transfer continued only \(slowest) after its link's return")
        return "\(outages) losses of the carrier for 14 to 25 s in the middle of a transfer, "
            + "went on after at most \(Int(slowest / .milliseconds(1))) ms: \(verdict.summary)"
    }

    private func addressChanges(_ findings: inout Findings) async throws -> String {
        let changes = context.count(quick: 1, usual: 2, long: 50)
        var random = context.random
        let (server, proxy, agent) = try await setUp([
            "upload.retry_interval": "2m", "upload.stall_timeout": "5s", "upload.reply_timeout": "5s",
        ])
        defer { proxy.resetAll() }
        var judge = Judge()
        for index in 0..<changes {
            let name = "address-\(index).jpg"
            let size = Int.random(in: 8_000_000...10_000_000, using: &random)
            holdAtFirstFragment(server, proxy)
            judge.stands(try agent.drop(name, .jpeg, size: size, seed: random.next()), at: name)
            try await Poll.until("a first fragment", lastState: { agent.log }) { proxy.condition == .blackHole }
            try await link.changeAddress()
            release(server, proxy)
            let begun = ContinuousClock.now
            try await agent.outcomes(judge, timeout: context.patience)
            let took = ContinuousClock.now - begun
            findings.expect(took < context.atMost(.seconds(30)), "an upload took \(took) after a change of address")
        }
        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        findings.add(verdict)
        return "\(changes) changes of address: \(verdict.summary)"
    }

    private func losses(_ findings: inout Findings) async throws -> String {
        var random = context.random
        do {
            try await link.lose(percent: 30)
        } catch let missing as NetworkLink.Missing {
            return "packet loss was skipped: \(missing.description)"
        }
        let (server, proxy, agent) = try await setUp(["upload.stall_timeout": "30s"])
        defer { proxy.resetAll() }
        var judge = Judge()
        for index in 0..<context.count(quick: 1, usual: 2, long: 20) {
            let name = "loss-\(index).jpg"
            let size = Int.random(in: 20_000...60_000, using: &random)
            judge.stands(try agent.drop(name, .jpeg, size: size, seed: random.next()), at: name)
        }
        try await agent.outcomes(judge, timeout: context.patience)
        await link.loseNothing()
        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        findings.add(verdict)
        return "30 % loss: \(verdict.summary)"
    }
}
