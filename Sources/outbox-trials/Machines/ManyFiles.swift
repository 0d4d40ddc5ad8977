import EndToEndSupport
import Glibc
import TestSupport

/// R6: many files arrive while the agent is down, and more while the kernel's event queue overflows.
struct ManyFiles: Trial {
    let name = "R6"
    let title = "many files while stopped, event queue overflowed"
    let bar = "the agent finds all within 60 s once it can run; at most 256 MiB of memory"
    let company = Company.inQuickRuns

    func run(_ context: TrialContext) async throws -> Outcome {
        let files = context.count(quick: 500, usual: 2000, long: 100_000)
        let hidden = context.count(quick: 100, usual: 500, long: 10_000)
        let server = try FaultServer()
        let agent = try context.agent(remote: server.url)
        var judge = Judge()
        var findings = Findings()
        for index in 0..<files {
            let name = "stopped/\(index / 1000)/\(index).jpg"
            judge.stands(try agent.drop(name, .jpeg, size: 2000, seed: context.seed &+ UInt64(index)), at: name)
        }
        try await agent.start()
        let found = try await timeToNotice(judge.paths, agent: agent, context.patience)
        try await agent.outcomes(judge, timeout: context.patience)

        // The stopped agent reads no events, and the kernel drops events that do not fit into the queue.
        agent.program?.kill(SIGSTOP)
        try overflow(agent)
        for index in 0..<hidden {
            let name = "overflow/\(index % 10)/\(index).jpg"
            judge.stands(try agent.drop(name, .jpeg, size: 2500, seed: context.seed &+ UInt64(index)), at: name)
        }
        agent.program?.kill(SIGCONT)
        let later = judge.paths.filter { $0.hasPrefix("overflow/") }
        let again = try await timeToNotice(later, agent: agent, context.patience)
        try await agent.outcomes(judge, timeout: context.patience)

        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        let memory = (agent.program?.peakResidentBytes ?? 0) >> 20
        findings.add(verdict)
        findings.expect(max(found, again) < context.atMost(.seconds(60)), "found only after \(found) and \(again)")
        findings.expect((1...256).contains(memory), "\(memory) MiB of memory")
        return findings.outcome(
            "\(files) files found after \(Int(found / .milliseconds(1))) ms, \(hidden) behind a full queue after "
                + "\(Int(again / .milliseconds(1))) ms: \(verdict.summary); \(memory) MiB")
    }

    /// Creates more events than the kernel queues: a rename makes two events, and the kernel would merge two equal
    /// events in a row.
    private func overflow(_ agent: Agent) throws {
        let limit = Files.read(Array("/proc/sys/fs/inotify/max_queued_events".utf8)).flatMap {
            Int(String(decoding: $0, as: UTF8.self).trimmingPrefix(while: \.isWhitespace).prefix(while: \.isNumber))
        }
        let names = [agent.path(".one"), agent.path(".two")]
        try Files.write([], to: names[0])
        for index in 0..<(limit ?? 16_384) { try Files.rename(names[index % 2], to: names[(index + 1) % 2]) }
    }

    private func timeToNotice(_ paths: [String], agent: Agent, _ patience: Duration) async throws -> Duration {
        let begun = ContinuousClock.now
        var left = paths
        do {
            try await Poll.until("sidecars", timeout: patience, every: .milliseconds(50)) {
                left = try left.filter { try agent.sidecar($0) == nil }
                return left.isEmpty
            }
        } catch is Poll.TimedOut {}
        return ContinuousClock.now - begun
    }
}
