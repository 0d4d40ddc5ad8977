import EndToEndSupport
import Glibc
import TestSupport

/// R6: many files arrive while the agent is down, and more while the kernel's event queue overflows.
struct ManyFiles: Trial {
    let name = "R6"
    let title = "many files while stopped, event queue overflowed"
    let bar = "the agent finds all within 60 s once it can run; at most 256 MiB of memory"
    let company = Company.inQuickRuns

    private let perDirectory = 100

    func run(_ context: TrialContext) async throws -> Outcome {
        let files = context.count(quick: 500, usual: 2000, long: 100_000)
        let hidden = context.count(quick: 100, usual: 500, long: 10_000)
        let server = try FaultServer()
        let agent = try context.agent(remote: server.url)
        var judge = Judge()
        var findings = Findings()
        for index in 0..<files {
            let name = "stopped/\(index / perDirectory)/\(index).jpg"
            judge.stands(try agent.drop(name, .jpeg, size: 2000, seed: context.seed &+ UInt64(index)), at: name)
        }
        try await agent.start()
        let found = try await timeToFind(files, agent: agent, context.patience)
        try await agent.outcomes(judge, timeout: context.patience)

        // The stopped agent reads no events, and the kernel drops events that do not fit into the queue.
        agent.program?.kill(SIGSTOP)
        try overflow(agent)
        for index in 0..<hidden {
            let name = "overflow/\(index / perDirectory)/\(index).jpg"
            judge.stands(try agent.drop(name, .jpeg, size: 2500, seed: context.seed &+ UInt64(index)), at: name)
        }
        agent.program?.kill(SIGCONT)
        let again = try await timeToFind(files + hidden, agent: agent, context.patience)
        try await agent.outcomes(judge, timeout: context.patience)

        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        let memory = agent.peakMemory
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

    /// Returns the time until the agent has found this many files: `status` counts the files that the agent has taken,
    /// and the directories with files that wait for their turn.
    private func timeToFind(_ count: Int, agent: Agent, _ patience: Duration) async throws -> Duration {
        let begun = ContinuousClock.now
        do {
            try await Poll.until("all files to be found", timeout: patience, every: .milliseconds(100)) {
                let known = try await agent.known()
                return known.count + known.deferred * perDirectory >= count
            }
        } catch is Poll.TimedOut {}
        return ContinuousClock.now - begun
    }
}
