import EndToEndSupport
import Glibc
import TestSupport

/// R8: slow and odd programs write directly into the outbox.
struct OddWriters: Trial {
    let name = "R8"
    let title = "slow and odd writers"
    let bar = "the server gets no partial file; all files are uploaded"

    func run(_ context: TrialContext) async throws -> Outcome {
        let rounds = context.count(quick: 2, usual: 8, long: 50)
        let server = try FaultServer()
        let agent = try context.agent(remote: server.url)
        try await agent.start()
        let elsewhere = "\(context.place)/elsewhere"
        try Files.makeDirectory(elsewhere)
        var random = context.random
        var judge = Judge()
        var findings = Findings()
        var used: Set<String> = []
        var missing: Set<String> = []

        for round in 0..<rounds {
            for writer in Writer.allCases {
                guard writer.program.map(Writer.isInstalled) ?? true else {
                    missing.insert(writer.rawValue)
                    continue
                }
                used.insert(writer.rawValue)
                let size = Int.random(in: 100_000...2_000_000, using: &random)
                let work = WriterWork(
                    bytes: SampleMedia.jpeg.bytes(size: size, seed: random.next()),
                    name: "\(round)-\(writer.rawValue).jpg", outbox: agent.outbox, elsewhere: elsewhere)
                for (name, key) in try await work.perform(writer) { judge.stands(key, at: name) }
            }
        }
        try await agent.outcomes(judge, timeout: context.patience)

        let verdict = try judge.verdict(stored: server.stored) { try agent.sidecar($0) }
        findings.add(verdict)
        let left = missing.isEmpty ? "" : " (not installed: \(missing.sorted().joined(separator: ", ")))"
        return findings.outcome(
            "\(judge.paths.count) files by \(used.count) kinds of writers\(left): \(verdict.summary)")
    }
}
