import EndToEndSupport
import Foundation
import TestSupport

/// R18: one huge file, and a huge number of files, while the server is away.
struct HugeAmounts: Trial {
    let name = "R18"
    let title = "a huge file, and very many files"
    let bar =
        "all accepted and queued; at most 64 MiB of memory for the file, 256 MiB for the many (programs of a debug build: "
        + "at most 32 and 224 MiB more than when they had started)"
    let company = Company.inQuickRuns

    /// Nothing listens on port 1 (tcpmux) of any usual machine.
    private static let away = "http://127.0.0.1:1"

    func run(_ context: TrialContext) async throws -> Outcome {
        var findings = Findings()
        let file = try await acceptFile(context, &findings)
        let files = try await acceptFiles(context, &findings)
        return findings.outcome("\(file); \(files)")
    }

    private func acceptFile(_ context: TrialContext, _ findings: inout Findings) async throws -> String {
        let gibibytes = context.count(quick: 1, usual: 8, long: 1024)
        let agent = try context.agent(remote: Self.away, ["intake.max_file_size": "2TiB"])
        try await agent.start()
        let idle = agent.peakMemory
        do {
            try SampleMedia.mp4.writeSparse(to: agent.path("huge.mp4"), size: gibibytes << 30)
        } catch {
            return "no sparse file of \(gibibytes) GiB on this disk, so that part is left out: \(error)"
        }
        let begun = ContinuousClock.now
        try await agent.reached("huge.mp4", .queued, .uploading, .waiting, timeout: context.patience * 2)
        let seconds = Int((ContinuousClock.now - begun) / .seconds(1))
        let limit = try AgentBuild.memoryLimit(64, idle: idle)
        let memory = agent.peakMemory
        findings.expect((1...limit).contains(memory), "\(memory) MiB for a huge file, \(idle) after the start")
        try await agent.stop()
        agent.remove("huge.mp4")
        return "a sparse file of \(gibibytes) GiB accepted after \(seconds) s in \(memory) MiB"
    }

    private func acceptFiles(_ context: TrialContext, _ findings: inout Findings) async throws -> String {
        let count = context.count(quick: 500, usual: 5000, long: 1_000_000)
        let space = count * (12 << 10) + (1 << 30)
        let free = try FileManager.default.attributesOfFileSystem(forPath: context.place)[.systemFreeSize] as? Int ?? 0
        guard free > space else {
            return "\(count) files need \(space >> 30) GiB of disk, \(free >> 30) are free, so that part is left out"
        }
        let agent = try context.agent(remote: Self.away)
        try await agent.start()
        let idle = agent.peakMemory
        let begun = ContinuousClock.now
        for index in 0..<count {
            let directory = agent.path("\(index / 1000)")
            if index % 1000 == 0 { try Files.makeDirectory(directory) }
            let bytes = SampleMedia.jpeg.bytes(size: 1000, seed: context.seed &+ UInt64(index))
            try Files.write(bytes, to: "\(directory)/\(index).jpg")
        }
        var counts: [String: Int] = [:]
        do {
            try await Poll.until("all files to be queued", timeout: context.patience * 4, every: .seconds(1)) {
                if let ending = agent.program?.ending { throw Surprise("the agent ended: \(ending)\n\(agent.log)") }
                counts = try await agent.known().summary
                return Self.waiting(counts) == count
            }
        } catch is Poll.TimedOut {}
        let seconds = Int((ContinuousClock.now - begun) / .seconds(1))
        findings.expect(Self.waiting(counts) == count, "\(count) files were dropped, but the agent has \(counts)")
        let limit = try AgentBuild.memoryLimit(256, idle: idle)
        let memory = agent.peakMemory
        findings.expect((1...limit).contains(memory), "\(memory) MiB for \(count) files, \(idle) after the start")
        var left = count
        do {
            try await Poll.until("a sidecar of each file", timeout: context.patience, every: .milliseconds(100)) {
                while left > 0, agent.exists("\((left - 1) / 1000)/\(left - 1).jpg.outbox.json") { left -= 1 }
                return left == 0
            }
        } catch is Poll.TimedOut {}
        findings.expect(left == 0, "file \(left - 1) has no sidecar")
        try await agent.stop()
        return "\(count) files queued after \(seconds) s in \(memory) MiB"
    }

    /// Returns the number of hashed files that wait for the server.
    private static func waiting(_ counts: [String: Int]) -> Int {
        ["queued", "uploading", "waiting"].reduce(0) { $0 + (counts[$1] ?? 0) }
    }
}
