import Foundation

/// A seeded random generator for fuzz tests. `OUTBOX_FUZZ_RUNS` sets the number of runs of each test;
/// `OUTBOX_FUZZ_SEED` repeats the runs of one seed.
struct Fuzz: RandomNumberGenerator {
    static var runs: Int { number("OUTBOX_FUZZ_RUNS") ?? 5_000 }

    let seed: UInt64
    private var state: UInt64

    init() {
        seed = Self.number("OUTBOX_FUZZ_SEED").map(UInt64.init) ?? .random(in: 1...UInt64(UInt32.max))
        state = seed
    }

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    /// SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ value >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
    }

    /// Returns `bytes` with up to four mutations: a byte changed, a range removed or doubled, or a token inserted.
    mutating func mutated(_ bytes: [UInt8], tokens: [String]) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 0...4, using: &self) {
            let at = Int.random(in: 0...bytes.count, using: &self)
            let end = min(bytes.count, at + Int.random(in: 0...12, using: &self))
            switch Int.random(in: 0..<4, using: &self) {
            case 0 where at < bytes.count: bytes[at] = UInt8.random(in: 0...255, using: &self)
            case 1: bytes.removeSubrange(at..<end)
            case 2: bytes.insert(contentsOf: Array(bytes[at..<end]), at: at)
            default: bytes.insert(contentsOf: Array((tokens.randomElement(using: &self) ?? "").utf8), at: at)
            }
        }
        return bytes
    }
}
