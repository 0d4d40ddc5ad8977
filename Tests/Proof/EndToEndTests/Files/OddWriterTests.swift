import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("An odd writer", .agents)
struct OddWriterTests {
    private let settings: Settings = ["intake.settle": .string(OddWriter.settle)]

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

    @Test("never makes the agent upload a partial file", arguments: OddWriter.allCases)
    func alone(writer: OddWriter) async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, settings)
        try await agent.start()
        let outcome = try await writer.run(agent.writersPlace, "odd", seed: 1)
        try await expectWhole([outcome], on: server, agent)
    }

    @Test("among many at once, with kills of the agent, never causes the upload of a partial file")
    func together() async throws {
        var trial = Trial("odd writers")
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, settings)
        try await agent.start()
        let seeds = (0..<(Trial.number("OUTBOX_TRIAL_WRITERS") ?? 45)).map { _ in trial.random.next() }
        let place = agent.writersPlace
        async let outcomes = Self.run(seeds, place)
        for _ in 0..<3 {
            try await Task.sleep(for: .milliseconds(Int.random(in: 200...900, using: &trial.random)))
            try await agent.kill()
            try await agent.start()
        }
        try await expectWhole(outcomes, on: server, agent)
    }

    private static func run(_ seeds: [UInt64], _ place: OddWriter.Place) async throws -> [OddWriter.Outcome] {
        try await withThrowingTaskGroup(of: OddWriter.Outcome.self) { group in
            for (index, seed) in seeds.enumerated() {
                let writer = OddWriter.allCases[index % OddWriter.allCases.count]
                group.addTask { try await writer.run(place, "w\(index)", seed: seed) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }
}

extension Agent {
    fileprivate var writersPlace: OddWriter.Place { .init(outbox: outbox, outside: directory.path) }
}
