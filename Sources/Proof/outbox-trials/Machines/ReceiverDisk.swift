import EndToEndSupport
import Glibc
import TestSupport

/// The part of R13 with a disk of its own, which fails to write the receiver's data for seconds.
struct ReceiverDisk {
    let context: TrialContext

    /// - Throws: ``Missing`` if the machine cannot provide such a disk.
    func run(_ findings: inout Findings) async throws -> String {
        guard CutDisk.available.contains(.ext4) else { throw Missing("no mkfs.ext4, or a kernel without ext4") }
        let disk = try await CutDisk(.ext4, in: context.place, name: "receiver-disk")
        do {
            let seen = try await fail(disk, &findings)
            await disk.remove()
            return seen
        } catch {
            await disk.remove()
            throw error
        }
    }

    private func fail(_ disk: CutDisk, _ findings: inout Findings) async throws -> String {
        let times = context.count(quick: 1, usual: 4, long: 40)
        var random = context.random
        let receiver = try Receiver(in: context.place)
        try PowerCuts.move(receiver.root, to: "\(disk.directory)/root")
        receiver.options = ["--free-space-floor", "1MiB"]
        try await receiver.start()
        // Keeps the agent's pauses short, so that they hide no delay of the receiver.
        let agent = try context.agent(remote: receiver.url, ["upload.retry_interval": "1s"])
        defer {
            // No process may use the disk when it is removed.
            receiver.program?.kill(SIGKILL)
            agent.program?.kill(SIGKILL)
        }
        try await agent.start()
        var judge = Judge()
        var slowest = Duration.zero
        let limit = context.atMost(.seconds(10))
        for round in 0..<times {
            let before = disk.disk.failedWrites
            for number in 0..<20 {
                let name = "failing/\(round)/\(number).jpg"
                try Files.makeDirectory("\(agent.outbox)/failing/\(round)")
                let size = Int.random(in: 5000...2_000_000, using: &random)
                judge.stands(try agent.drop(name, .jpeg, size: size, seed: random.next()), at: name)
                if number == 3 { disk.disk.failContents() }
            }
            do {
                try await Poll.until("a write that failed", timeout: .seconds(60)) {
                    disk.disk.failedWrites > before
                }
            } catch is Poll.TimedOut {
                findings.expect(false, "round \(round): no write failed, so the round proves nothing")
            }
            try await Task.sleep(for: .milliseconds(Int.random(in: 500...3000, using: &random)))
            disk.disk.mendContents()
            let begun = ContinuousClock.now
            let isThrough = try await agent.outcomes(judge, timeout: limit)
            slowest = max(slowest, ContinuousClock.now - begun)
            findings.expect(
                isThrough, "round \(round): files are not final \(limit) after the receiver's disk was in order")
            try await agent.outcomes(judge, timeout: context.patience)
        }
        let verdict = try judge.verdict(stored: receiver.stored()) { try agent.sidecar($0) }
        findings.add(verdict)
        // Checks what remains after the kernel dropped the contents that it could not write.
        try await receiver.kill()
        _ = try await disk.recover(losing: 1, random: &random)
        try await receiver.start()
        let confirmed = PowerCuts.check(agent, judge, receiver, "after the receiver's disk failed", &findings)
        findings.expect(
            confirmed == judge.paths.count,
            "\(judge.paths.count - confirmed) files failed because of the receiver's disk")
        try await agent.stop()
        try await receiver.kill()
        return "the receiver's disk failed \(times) times at \(disk.disk.failedWrites) writes, \(confirmed) files "
            + "confirmed: \(verdict.summary); through after at most \(Int(slowest / .milliseconds(1))) ms"
    }
}
