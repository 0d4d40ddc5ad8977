import Foundation
import TestSupport

/// What a trial is run with, from the environment, so that a short run and a long one are the same code.
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

/// A mixed load: many small files, duplicates of some of them, and a large one.
struct MixedLoad {
    struct Drop {
        let name: String
        let media: SampleMedia
        let size: Int
        let seed: UInt64
    }

    private(set) var drops: [Drop] = []

    init(small: Int, duplicates: Int, large: Int, random: inout SeededRandom) {
        for index in 0..<small {
            let media = SampleMedia.allCases[index % SampleMedia.allCases.count]
            drops.append(
                Drop(
                    name: "small/\(index % 7)/\(index).\(media.fileExtension)", media: media,
                    size: Int.random(in: 1000...1_500_000, using: &random), seed: random.next()))
        }
        for index in 0..<duplicates {
            let original = drops[Int.random(in: 0..<small, using: &random)]
            drops.append(
                Drop(
                    name: "copies/\(index).\(original.media.fileExtension)", media: original.media,
                    size: original.size, seed: original.seed))
        }
        drops.shuffle(using: &random)
        drops.insert(Drop(name: "large.mp4", media: .mp4, size: large, seed: random.next()), at: 0)
    }

    /// The number of fragments over all contents.
    var fragments: Int {
        Set(drops.map { "\($0.media) \($0.size) \($0.seed)" }).reduce(0) { sum, content in
            sum + ((content.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) + 524_287) / 524_288
        }
    }

    /// Writes the drop into the outbox and returns its key.
    static func put(_ drop: Drop, into agent: Agent) throws -> String {
        let path = agent.path(drop.name)
        try Files.makeDirectory(URL(fileURLWithPath: path).deletingLastPathComponent().path)
        try drop.media.write(to: path, size: drop.size, seed: drop.seed)
        return try Digest.md5(file: path)
    }
}
