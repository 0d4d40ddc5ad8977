import EndToEndSupport
import Foundation
import Glibc
import TestSupport

/// R27: the disk of the receiver, of the agent, or of both loses power at any moment.
///
/// The disks have a write cache. A cut loses the writes that no flush covered. A cut has two steps. First the disk
/// silently stops answering, which exposes any confirmation that did not wait for the disk. Then the trial kills the
/// programs.
struct PowerCuts: Trial {
    let name = "R27"
    let title = "power cuts that lose unflushed writes"
    let bar = "0 lost, 0 duplicates, 0 mixtures; the server serves every confirmed file under its URL"

    /// The results for one kind of file system.
    private struct Tally {
        var cuts = 0
        var unflushed = 0
        var verdict = ""
        var confirmed = 0
    }

    func run(_ context: TrialContext) async throws -> Outcome {
        let kinds = CutDisk.available
        guard !kinds.isEmpty else {
            return .skipped("no file system that both this kernel and an installed mkfs know: ext4, xfs, btrfs")
        }
        let cuts = context.count(quick: 3, usual: 12, long: 400)
        var random = context.random
        var findings = Findings()
        var seen: [String] = []
        var done = 0
        var unflushed = 0
        for kind in kinds {
            do {
                let tally = try await cut(cuts, kind, context, &random, &findings)
                done += tally.cuts
                unflushed += tally.unflushed
                seen.append(
                    "\(kind.rawValue): \(tally.cuts) cuts over \(tally.unflushed) unflushed writes, "
                        + "\(tally.confirmed) files confirmed: \(tally.verdict)")
            } catch let missing as Missing {
                seen.append("\(kind.rawValue) skipped: \(missing)")
            }
        }
        guard done > 0 else { return .skipped(seen.joined(separator: "; ")) }
        // XFS flushes so often that a few cuts may hit no unflushed write.
        findings.expect(unflushed > 0, "no cut lost anything: 0 unflushed writes")
        return findings.outcome(seen.joined(separator: "; "))
    }

    private func cut(
        _ cuts: Int, _ kind: CutDisk.Kind, _ context: TrialContext, _ random: inout SeededRandom,
        _ findings: inout Findings
    ) async throws -> Tally {
        let place = "\(context.place)/\(kind.rawValue)"
        try Files.makeDirectory(place)
        let serverDisk = try await CutDisk(kind, in: place, name: "server-disk")
        do {
            let agentDisk = try await CutDisk(kind, in: place, name: "agent-disk")
            do {
                let tally = try await cut(cuts, serverDisk, agentDisk, place, context, &random, &findings)
                await agentDisk.remove()
                await serverDisk.remove()
                return tally
            } catch {
                await agentDisk.remove()
                throw error
            }
        } catch {
            await serverDisk.remove()
            throw error
        }
    }

    private func cut(
        _ cuts: Int, _ serverDisk: CutDisk, _ agentDisk: CutDisk, _ place: String, _ context: TrialContext,
        _ random: inout SeededRandom, _ findings: inout Findings
    ) async throws -> Tally {
        let receiver = try Receiver(in: place)
        try Self.move(receiver.root, to: "\(serverDisk.directory)/root")
        receiver.options = ["--free-space-floor", "1MiB"]
        try await receiver.start()
        let agent = try Agent(remote: receiver.url, in: place)
        try Self.move(agent.state, to: "\(agentDisk.directory)/state")
        defer {
            // No process may use the disks when they are removed.
            receiver.program?.kill(SIGKILL)
            agent.program?.kill(SIGKILL)
        }
        try await agent.start()
        var judge = Judge()
        var tally = Tally()

        for round in 0..<cuts {
            let hitsServer = round % 3 != 1
            let hitsAgent = round % 3 != 0
            let disks = (hitsServer ? [serverDisk] : []) + (hitsAgent ? [agentDisk] : [])
            for disk in disks where Bool.random(using: &random) {
                disk.disk.blowFuse(after: Int.random(in: 1...120, using: &random))
            }
            try drop(round, agent, &judge, &random)
            try await moment(disks, &random)
            // Long enough for an answer that does not wait for the disk.
            for disk in disks { disk.disk.freeze() }
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...300, using: &random)))
            if hitsServer { receiver.program?.kill(SIGKILL) }
            if hitsAgent { agent.program?.kill(SIGKILL) }
            for disk in disks { disk.disk.fail() }
            if hitsServer { try await receiver.kill() }
            if hitsAgent { try await agent.kill() }
            let share = Bool.random(using: &random) ? 1 : Double.random(in: 0.2..<1, using: &random)
            for disk in disks { tally.unflushed += try await disk.recover(losing: share, random: &random) }
            tally.cuts += disks.count
            if hitsServer { try await receiver.start() }
            if hitsAgent { try await agent.start() }
            if hitsServer { Self.check(agent, judge, receiver, "after cut \(round + 1)", &findings) }
        }
        try await agent.outcomes(judge, timeout: context.patience)
        let verdict = try judge.verdict(stored: receiver.stored()) { try agent.sidecar($0) }
        findings.add(verdict)
        tally.confirmed = Self.check(agent, judge, receiver, "in the end", &findings)
        tally.verdict = verdict.summary
        try await agent.stop()
        try await receiver.kill()
        return tally
    }

    /// Moves a directory to another disk.
    static func move(_ directory: String, to place: String) throws {
        try? FileManager.default.removeItem(atPath: directory)
        try FileManager.default.createDirectory(
            atPath: place, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        try FileManager.default.createSymbolicLink(atPath: directory, withDestinationPath: place)
        // The administrator created the directory, so make the directory itself durable.
        for path in [place, URL(fileURLWithPath: place).deletingLastPathComponent().path] {
            let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            fsync(descriptor)
            close(descriptor)
        }
    }

    private func drop(_ round: Int, _ agent: Agent, _ judge: inout Judge, _ random: inout SeededRandom) throws {
        for number in 0..<Int.random(in: 8...30, using: &random) {
            let size = Int.random(in: 500...200_000, using: &random)
            let name = "\(round)/\(number).jpg"
            try Files.makeDirectory("\(agent.outbox)/\(round)")
            judge.stands(try agent.drop(name, .jpeg, size: size, seed: random.next()), at: name)
        }
        guard round % 4 == 0 else { return }
        // Above 8 MiB, the receiver starts writing to the disk early.
        judge.stands(
            try agent.drop("\(round)/large.mp4", .mp4, size: 9_000_000, seed: random.next()), at: "\(round)/large.mp4")
    }

    /// Waits until one of the disks loses power, or for a random time.
    private func moment(_ disks: [CutDisk], _ random: inout SeededRandom) async throws {
        do {
            let longest = Duration.milliseconds(Int.random(in: 50...1500, using: &random))
            try await Poll.until("a cut", timeout: longest, every: .milliseconds(2)) {
                disks.contains { $0.disk.isFrozen }
            }
        } catch is Poll.TimedOut {}
    }

    /// Checks that the receiver serves every file with a sidecar in state done, byte for byte.
    /// - Returns: The number of files served correctly.
    @discardableResult
    static func check(
        _ agent: Agent, _ judge: Judge, _ receiver: Receiver, _ when: String, _ findings: inout Findings
    ) -> Int {
        var served = 0
        for path in judge.paths {
            guard let sidecar = try? agent.sidecar(path), sidecar.state == .done, let key = sidecar.key,
                let url = sidecar.remote?.url.flatMap({ URL(string: $0) })
            else { continue }
            let reply = receiver.get(url.path(percentEncoded: true))
            if reply?.status == 200, let body = reply?.body, Digest.md5(body) == key {
                served += 1
            } else {
                findings.expect(
                    false, "\(when): \(path) is done, and \(url) answers \(reply?.status.description ?? "nothing")")
            }
        }
        return served
    }
}
