import EndToEndSupport
import Glibc
import TestSupport

/// R14: the wall clock jumps by a day either way, the machine reboots, and files have times from 1970 and from the
/// future.
struct SteppingClocks: Trial {
    let name = "R14"
    let title = "clock steps, file times far in the past or future"
    let bar = "all files are uploaded; none waits for the clock"

    private let day: Int64 = 86_400
    /// Far shorter than a jump of the clock, and far longer than the wait for the next attempt.
    private let limit = Duration.seconds(180)

    func run(_ context: TrialContext) async throws -> Outcome {
        let rounds = context.count(quick: 2, usual: 6, long: 50)
        var random = context.random
        let failing = Shared(false)
        let server = try FaultServer(uploadDelay: .milliseconds(10)) { _, _ in
            failing.value ? .status(503) : nil
        }
        let agent = try context.agent(remote: server.url)
        let board = try FaultBoard(in: context.place)
        agent.environment.merge(board.environment([])) { $1 }
        var judge = Judge()
        var findings = Findings()
        try await agent.start()

        for round in 0..<rounds {
            for (index, time) in [0, 1, 4_102_444_800, -86_400].enumerated() {
                try drop("\(round)-\(index).jpg", modified: time, agent: agent, &judge, &random)
            }
            // The jump comes while the agent sends, or while it waits for the next attempt.
            failing.withLock { $0 = round % 2 == 1 }
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...300, using: &random)))
            board.moveClocks(wall: [day, -day, 0][round % 3])
            try drop("\(round)-late.jpg", modified: nil, agent: agent, &judge, &random)
            try await Task.sleep(for: .milliseconds(300))
            failing.withLock { $0 = false }
            try await agent.outcomes(judge, timeout: limit)
            let left = try judge.unfinished(among: judge.paths) { try agent.sidecar($0) }
            findings.expect(left.isEmpty, "\(limit) after the clock was moved these still wait: \(left)")
        }
        try await reboots(agent, board, failing, &judge, &findings, &random)
        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        findings.add(verdict)
        return findings.outcome("\(rounds) jumps and 2 reboots, \(judge.paths.count) files: \(verdict.summary)")
    }

    /// The clock since boot restarts while uploads wait for their next attempt, and later jumps far ahead.
    private func reboots(
        _ agent: Agent, _ board: FaultBoard, _ failing: Shared<Bool>, _ judge: inout Judge,
        _ findings: inout Findings, _ random: inout SeededRandom
    ) async throws {
        for (number, boot) in [day, -day].enumerated() {
            failing.withLock { $0 = true }
            try await agent.kill()
            board.moveClocks(wall: 0, boot: max(boot, 0))
            try await agent.start()
            let name = "reboot-\(number).jpg"
            try drop(name, modified: nil, agent: agent, &judge, &random)
            try await agent.reached(name, .waiting)
            try await agent.kill()
            board.moveClocks(wall: 0, boot: boot > 0 ? 0 : day)
            failing.withLock { $0 = false }
            try await agent.start()
            try await agent.outcomes(judge, timeout: limit)
            let left = try judge.unfinished(among: judge.paths) { try agent.sidecar($0) }
            findings.expect(left.isEmpty, "\(limit) after a reboot these still wait: \(left)")
        }
    }

    private func drop(
        _ name: String, modified: Int?, agent: Agent, _ judge: inout Judge, _ random: inout SeededRandom
    ) throws {
        let size = Int.random(in: 1000...1_500_000, using: &random)
        // Rename into place, so that the times are set from the first moment on.
        let part = ".\(name).part"
        judge.stands(try agent.drop(part, .jpeg, size: size, seed: random.next()), at: name)
        if let modified {
            let times = [timespec(tv_sec: modified, tv_nsec: 0), timespec(tv_sec: modified, tv_nsec: 0)]
            guard utimensat(AT_FDCWD, agent.path(part), times, 0) == 0 else {
                throw Surprise("utimensat \(modified): errno \(errno)")
            }
        }
        try Files.rename(agent.path(part), to: agent.path(name))
    }
}
