import EndToEndSupport
import Foundation
import TestSupport
import Testing

/// The trial R8 has other writers: copying programs, ffmpeg, and those that preallocate or write backwards.
@Suite("Odd writers", .agents)
struct OddWriterTests {
    /// Checks that the files of some writers were uploaded, and no other object.
    private func expectWhole(_ outcomes: [OddWriter.Outcome], on server: FaultServer, _ agent: Agent) async throws {
        var allowed: Set<String> = []
        for outcome in outcomes {
            let key = Digest.md5(outcome.bytes)
            try await agent.reached(outcome.name, .done, where: { $0.key == key })
            allowed.insert(key)
            #expect(server.store.finished.contains(key))
            if let earlier = outcome.earlier { allowed.insert(Digest.md5(earlier)) }
        }
        let partial = Set(server.store.finished).subtracting(allowed)
        #expect(partial == [], "objects of partial files: \(outcomes.compactMap { $0.origin(of: partial) })")
        #expect(server.store.mixtures == [])
        #expect(server.store.violations == [])
    }

    @Test("never make the agent upload a partial file, nor do many at once with kills of the agent")
    func whole() async throws {
        var trial = Trial("odd writers")
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.settle": .string(OddWriter.settle)])
        try await agent.start()
        let place = OddWriter.Place(outbox: agent.outbox, outside: agent.directory.path)
        let first = try await Self.run(OddWriter.allCases.map { _ in trial.random.next() }, place, "a")
        try await expectWhole(first, on: server, agent)

        let seeds = (0..<(Trial.number("OUTBOX_TRIAL_WRITERS") ?? 45)).map { _ in trial.random.next() }
        async let outcomes = Self.run(seeds, place, "b")
        for _ in 0..<3 {
            try await Task.sleep(for: .milliseconds(Int.random(in: 200...900, using: &trial.random)))
            try await agent.kill()
            try await agent.start()
        }
        try await expectWhole(first + outcomes, on: server, agent)
    }

    private static func run(
        _ seeds: [UInt64], _ place: OddWriter.Place, _ prefix: String
    ) async throws -> [OddWriter.Outcome] {
        try await withThrowingTaskGroup(of: OddWriter.Outcome.self) { group in
            for (index, seed) in seeds.enumerated() {
                let writer = OddWriter.allCases[index % OddWriter.allCases.count]
                group.addTask { try await writer.run(place, "\(prefix)\(index)", seed: seed) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}
