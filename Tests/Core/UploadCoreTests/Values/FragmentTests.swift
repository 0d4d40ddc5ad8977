import Testing
import UploadCore

@Suite("Fragments of a content")
struct FragmentTests {
    private static let size = UInt64(FragmentPlan.sectionSize)

    @Test(
        "have the expected count",
        arguments: [(0, 0), (1, 1), (size - 1, 1), (size, 1), (size + 1, 2), (size * 7, 7)] as [(UInt64, Int)])
    func count(size: UInt64, count: Int) {
        #expect(FragmentPlan(size: size).count == count)
    }

    @Test("cover the content without a gap", arguments: [1, size - 1, size, size + 1, size * 3 + 7])
    func cover(size: UInt64) {
        let plan = FragmentPlan(size: size)
        var end: UInt64 = 0
        for index in 0..<plan.count {
            #expect(plan.range(of: index).lowerBound == end)
            end = plan.range(of: index).upperBound
        }
        #expect(end == size)
        #expect(plan.range(of: plan.count) == size..<size)
    }

    @Test("a fragment size of 0 is taken as 1")
    func zero() {
        #expect(FragmentPlan(size: 5, fragmentSize: 0).count == 5)
    }

    @Test(
        "are reported in units of 512 KiB, whatever the plan",
        arguments: [
            (fragmentSize: 512 << 10, acknowledged: [0], finished: 1), (512 << 10, [24], 1), (512 << 10, [0, 24], 2),
            (5 << 20, [0], 10), (5 << 20, [0, 1], 20), (5 << 20, [2], 4), (5 << 20, [0, 1, 2], 25), (5 << 20, [], 0),
        ] as [(UInt32, [Int], Int)])
    func progress(fragmentSize: UInt32, acknowledged: [Int], finished: Int) {
        // 24 fragments of 512 KiB and one byte.
        let plan = FragmentPlan(size: 24 * Self.size + 1, fragmentSize: fragmentSize)
        var set = FragmentSet()
        for index in acknowledged { set.insert(index) }
        let progress = FragmentProgress(plan, acknowledged: set, bytes: plan.bytes(in: set))
        #expect(progress.total == 25 && progress.finished == finished)
    }

    @Test(
        "consist of whole blocks, whatever a protocol asks for", arguments: [(1, 1), (512 << 10, 1), (5_000_000, 10)])
    func wholeBlocks(asked: UInt32, blocks: UInt32) {
        let traits = RemoteTraits(batch: 1, fragmentSize: asked, maximumFragments: 10_000)
        for size in [0, 1, 5 << 20, 64 << 30] as [UInt64] {
            #expect(traits.plan(for: size).fragmentSize % ContentSeal.blockSize == 0)
        }
        #expect(traits.fragmentSize == blocks * ContentSeal.blockSize)
    }

    @Test("are counted correctly up to 64 Gi fragments of 512 KiB")
    func large() {
        let plan = FragmentPlan(size: 64 << 30)
        #expect(plan.count == 131_072)
        #expect(plan.range(of: 131_071) == (64 << 30) - Self.size..<64 << 30)
    }
}

@Suite("A set of fragments")
struct FragmentSetTests {
    @Test("holds inserted fragments, and counts each once")
    func insert() {
        var set = FragmentSet()
        for index in [0, 63, 64, 4095, 4096, 0] { set.insert(index) }
        #expect(set.count == 5)
        #expect([0, 63, 64, 4095, 4096].allSatisfy(set.contains))
        #expect([1, 62, 65, 4097, 100_000].allSatisfy { !set.contains($0) })
        let isNew = set.insert(64)
        #expect(!isNew)
        set.remove(64)
        set.remove(64)
        set.remove(1_000_000)
        #expect(set.count == 4 && !set.contains(64))
    }

    @Test("is restored from its words")
    func words() {
        var set = FragmentSet(prefix: 130)
        set.remove(70)
        #expect(FragmentSet(words: set.words) == set)
        #expect(FragmentSet(words: [.max, 1]).count == 65)
    }

    @Test("of a prefix holds exactly that prefix", arguments: [-1, 0, 1, 64, 65, 200])
    func prefix(count: Int) {
        let set = FragmentSet(prefix: count)
        #expect(set.count == max(0, count))
        #expect(set.firstMissing() == max(0, count))
    }

    @Test("finds the first missing fragment like a plain search")
    func firstMissing() {
        var set = FragmentSet(prefix: 300)
        for index in [0, 63, 64, 127, 128, 199, 299] { set.remove(index) }
        for start in 0..<400 {
            let plain = (start...).first { !set.contains($0) }
            #expect(set.firstMissing(from: start) == plain)
        }
    }
}
