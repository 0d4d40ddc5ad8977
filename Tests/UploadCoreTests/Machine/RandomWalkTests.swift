import Foundation
import Testing
import UploadCore

/// `OUTBOX_WALK_EVENTS` (default 120,000) sets the length of the walk, `OUTBOX_WALK_SEED` its seed.
@Suite("A walk at random over faults, kills and a restless user")
struct RandomWalkTests {
    private static let events = number("OUTBOX_WALK_EVENTS") ?? 120_000
    private static let stretch = 2_000

    private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap(Int.init) }

    @Test("keeps every promise and comes to an end", arguments: [RemoteTraits.fileSection, .tus, .s3])
    func walk(traits: RemoteTraits) {
        let first = Self.number("OUTBOX_WALK_SEED") ?? 1
        for stretch in 0..<max(1, Self.events / 3 / Self.stretch) {
            let seed = UInt64(first + stretch)
            var walk = Walk(traits: traits, seed: seed)
            for step in 0..<Self.stretch where walk.problem == nil {
                walk.step()
                if let problem = walk.problem { Issue.record("OUTBOX_WALK_SEED=\(seed), step \(step): \(problem)") }
            }
            if walk.problem != nil { return }
            walk.end()
            if let problem = walk.problem {
                Issue.record("OUTBOX_WALK_SEED=\(seed), at the end: \(problem)")
                return
            }
        }
    }
}
