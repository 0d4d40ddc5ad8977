import Foundation
package import TestSupport

/// A mixed load: many small files, duplicates of some of them, and a large one.
package struct MixedLoad {
    package struct Drop {
        package let name: String
        let media: SampleMedia
        package let size: Int
        let seed: UInt64
    }

    package private(set) var drops: [Drop] = []

    package init(small: Int, duplicates: Int, large: Int, random: inout SeededRandom) {
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
    package var fragments: Int {
        Set(drops.map { "\($0.media) \($0.size) \($0.seed)" }).reduce(0) { sum, content in
            sum + ((content.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) + 524_287) / 524_288
        }
    }

    /// Writes the drop into the outbox and returns its key.
    package static func put(_ drop: Drop, into agent: Agent) throws -> String {
        let path = agent.path(drop.name)
        try Files.makeDirectory(URL(fileURLWithPath: path).deletingLastPathComponent().path)
        try drop.media.write(to: path, size: drop.size, seed: drop.seed)
        return try Digest.md5(file: path)
    }
}
