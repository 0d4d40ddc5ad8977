import Foundation
import Testing

/// `OUTBOX_WALK_EVENTS` (default 40,000) sets the number of events, `OUTBOX_WALK_SEED` the first seed.
@Suite("Agent core: random walk")
struct CoreWalkTests {
    private static let stretch = 600

    @Test("every path ends or waits for something that can be named, whatever users, disk, server and kills do")
    func walk() async throws {
        let environment = ProcessInfo.processInfo.environment
        let events = environment["OUTBOX_WALK_EVENTS"].flatMap(Int.init) ?? 40_000
        var seed = environment["OUTBOX_WALK_SEED"].flatMap(UInt64.init) ?? 1
        var (count, kills) = (0, 0)
        while count < events {
            let walk = try await CoreWalk(seed: seed)
            for _ in 0..<Self.stretch where walk.problem == nil { try await walk.step() }
            if walk.problem == nil { try await walk.end() }
            if let problem = walk.problem {
                Issue.record("OUTBOX_WALK_SEED=\(seed): \(problem)")
                return
            }
            count += walk.eventCount
            kills += walk.kills
            seed += 1
        }
        #expect(kills > 0)
    }
}
