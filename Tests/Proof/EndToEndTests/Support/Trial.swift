import Foundation
import TestSupport

/// The parameters of a trial from the environment, so that short and long runs share the code.
struct Trial {
    let seed: UInt64
    var random: SeededRandom

    init(_ name: String) {
        seed = Self.number("OUTBOX_TRIAL_SEED").map { UInt64($0) } ?? UInt64.random(in: 0..<1_000_000_000)
        random = SeededRandom(seed: seed)
        print("\(name): OUTBOX_TRIAL_SEED=\(seed)")
    }

    static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    /// The size of the one large file.
    static var largeSize: Int { number("OUTBOX_TRIAL_LARGE") == nil ? 64_000_000 : 300_000_000 }
}
