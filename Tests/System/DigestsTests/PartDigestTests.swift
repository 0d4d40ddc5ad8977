import LinuxSystem
import TestSupport
import Testing
import UploadCore

@testable import Digests

@Suite("Digests of parts")
struct PartDigestTests {
    private static let traits = RemoteTraits(batch: 1, fragmentSize: 1 << 20)

    private func secret() throws -> DigestSecret {
        try #require(DigestSecret([UInt8](repeating: 1, count: DigestSecret.length)))
    }

    @Test(
        "two MD5s at once give the digests of each alone, wherever the bytes are cut",
        arguments: 1...20 as ClosedRange<UInt64>)
    func pairs(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let bytes = random.bytes(3000)
        let start = Int.random(in: 0...200, using: &random)
        var (first, second) = (MD5Hasher(), MD5Hasher())
        bytes[..<start].withUnsafeBytes { first.update($0) }
        var rest = bytes[start...]
        while !rest.isEmpty {
            // Mostly whole blocks of 64 bytes.
            let count = Int.random(in: 0...3, using: &random) == 0 ? 7 : 64 * Int.random(in: 1...9, using: &random)
            rest.prefix(count).withUnsafeBytes { MD5Hasher.update(&first, &second, $0) }
            rest = rest.dropFirst(count)
        }
        #expect(first.finish() == MD5Hasher.hash(bytes))
        #expect(second.finish() == MD5Hasher.hash(Array(bytes[start...])))
    }

    @Test(
        "come with the key, which they don't change, from one thread or two",
        arguments: [(0, 1), (1, 1), (1 << 20, 1), ((1 << 20) + 1, 2), (5 << 19, 3)],
        [nil, SerialThread(name: "helper")])
    func parts(_ form: (size: Int, count: Int), helper: SerialThread?) throws {
        let (size, count) = form
        let secret = try secret()
        var random = SeededRandom(seed: 1)
        let bytes = random.bytes(size)
        let store = PartDigestStore(Self.traits, md5: true, sha256: true)
        let wish = try #require(store.wish(forSize: UInt64(size)))
        var hasher = ContentHasher(secret: secret, withSHA256: true, parts: wish, helper: helper)
        var plain = ContentHasher(secret: secret, withSHA256: true)
        for start in stride(from: 0, to: size, by: 256 << 10) {
            bytes[start..<min(size, start + (256 << 10))].withUnsafeBytes {
                hasher.update($0)
                plain.update($0)
            }
        }
        let result = hasher.finish()
        let parts = try #require(result.parts)
        #expect(parts.count == count)
        for (index, part) in parts.enumerated() {
            let expected = Array(bytes[(index << 20)..<min(size, (index + 1) << 20)])
            // The key of a content in one part is its MD5.
            #expect(part.md5 == (count > 1 ? MD5Hasher.hash(expected) : nil))
            #expect(part.sha256 == SHA256Hasher.hash(expected))
        }
        let content = result.content
        #expect(content == plain.finish().content)
        #expect(content.sha256 == StrongDigest(SHA256Hasher.hash(bytes)))
        store.store(parts, of: content.key)
        let plan = Self.traits.plan(for: UInt64(size))
        #expect(store.digests(of: content.key, plan, part: count - 1) == parts.last)
        #expect(store.digests(of: content.key, plan, part: count) == nil)
        let other = FragmentPlan(size: UInt64(size), fragmentSize: 2 << 20)
        #expect(store.digests(of: content.key, other, part: 0) == nil)
        store.remove(content.key)
        #expect(store.digests(of: content.key, plan, part: 0) == nil)
    }

    @Test("are not wanted by a protocol without them")
    func none() throws {
        #expect(PartDigestStore(Self.traits, md5: false, sha256: false).wish(forSize: 5 << 20) == nil)
        #expect(PartDigestStore(Self.traits, md5: true, sha256: false).wish(forSize: 1 << 20) == nil)
        var hasher = ContentHasher(secret: try secret())
        let parts = hasher.finish().parts
        #expect(parts == nil)
    }

    @Test("stay in a full store until they are sent; meanwhile it takes no others")
    func bound() {
        let store = full()
        #expect(holds(1, store) && !holds(Self.most + 1, store))
        store.remove(key(2))
        add(Self.most + 2, to: store)
        #expect(holds(1, store) && holds(Self.most + 2, store) && !holds(Self.most + 1, store))
    }

    @Test("that nobody sends leave a full store after later ones")
    func unsent() {
        let store = full()
        // The first one is in use, and the second one is not.
        #expect(holds(1, store))
        store.remove(key(10))
        add(Self.most + 2, to: store)
        add(Self.most + 3, to: store)
        #expect(holds(1, store) && holds(11, store) && holds(Self.most + 3, store))
        #expect(!holds(2, store))
    }

    private static let most = UInt64(PartDigestStore.mostParts)

    /// A store with as many contents as it takes, after an attempt to add one more.
    private func full() -> PartDigestStore {
        let store = PartDigestStore(Self.traits, md5: false, sha256: true)
        for number in 1...Self.most + 1 { add(number, to: store) }
        return store
    }

    private func add(_ number: UInt64, to store: PartDigestStore) {
        store.store([PartDigests(sha256: [1])], of: key(number))
    }

    private func key(_ number: UInt64) -> ContentKey { ContentKey(high: number, low: 0) }

    private func holds(_ number: UInt64, _ store: PartDigestStore) -> Bool {
        store.digests(of: key(number), Self.traits.plan(for: 1), part: 0) != nil
    }
}
