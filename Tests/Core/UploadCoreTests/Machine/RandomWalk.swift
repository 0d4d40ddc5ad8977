import Foundation
import Testing

/// One random history, which a seed determines.
protocol RandomWalk {
    /// The first broken promise.
    var problem: String? { get }
    mutating func step()
    /// Lets everything end that can, and checks the result.
    mutating func end()
}

/// Takes walks of `stretch` steps each, until their steps add up to `events`.
///
/// `OUTBOX_WALK_EVENTS` replaces the default number of events, `OUTBOX_WALK_SEED` the first seed. The first walk that
/// breaks a promise is recorded with its seed, and is the last.
///
/// - Parameter share: the number of equal parts of `events`; this call takes one part.
func takeWalks<Walk: RandomWalk>(events: Int, share: Int = 1, stretch: Int, from start: (_ seed: UInt64) -> Walk) {
    let environment = ProcessInfo.processInfo.environment
    let first = environment["OUTBOX_WALK_SEED"].flatMap(Int.init) ?? 1
    let events = environment["OUTBOX_WALK_EVENTS"].flatMap(Int.init) ?? events
    for number in 0..<max(1, events / share / stretch) {
        let seed = UInt64(first + number)
        var walk = start(seed)
        for step in 0..<stretch where walk.problem == nil {
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
