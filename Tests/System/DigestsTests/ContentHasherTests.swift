import LinuxSystem
import Synchronization
import Testing
import UploadCore

@testable import Digests

@Suite("Content hasher")
struct ContentHasherTests {
    /// The test suite of RFC 1321, appendix A.5.
    @Test(
        "computes the MD5 of RFC 1321's vectors",
        arguments: [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
            (
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
                "d174ab98d277d9f5a5611c2c9f419d9f"
            ),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a"
            ),
        ])
    func vectors(text: String, key: String) throws {
        #expect(try hash([Array(text.utf8)]).content.key.description == key)
    }

    @Test("computes the MD5 of a million letters in pieces of any size", arguments: [1, 63, 64, 65, 4_096, 1_000_000])
    func million(step: Int) {
        var hasher = MD5Hasher()
        let letters = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)
        letters.withUnsafeBytes { bytes in
            for start in stride(from: 0, to: bytes.count, by: step) {
                hasher.update(UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + step, bytes.count)]))
            }
        }
        #expect(hasher.finish().hexadecimal == "7707d6ae4e027c70eea2a935c2296f21")
    }

    @Test("computes the same MD5s of several inputs together as one after the other", arguments: 1...17)
    func together(count: Int) {
        let lengths = [64, 4_096, 0, 65_536, 63]
        let inputs = (0..<count).map { index in pattern(lengths[index % lengths.count] + index * 977) }
        let joined: [UInt8] = inputs.flatMap(\.self)
        let digests = joined.withUnsafeBytes { bytes in
            var rest = bytes[...]
            let pieces = inputs.map { input in
                defer { rest = rest.dropFirst(input.count) }
                return UnsafeRawBufferPointer(rebasing: rest.prefix(input.count))
            }
            var hashers = pieces.map { _ in MD5Hasher() }
            // All that come before a multiple of 64 bytes, then the rest.
            let cuts = pieces.map { $0.count / 3 / 64 * 64 }
            MD5Hasher.update(each: &hashers, zip(pieces, cuts).map { .init(rebasing: $0[..<$1]) })
            MD5Hasher.update(each: &hashers, zip(pieces, cuts).map { .init(rebasing: $0[$1...]) })
            return hashers.indices.map { hashers[$0].finish() }
        }
        #expect(digests == inputs.map(MD5Hasher.hash))
    }

    @Test("gives the same digests for pieces of any size", arguments: [1021, 65_536, 524_287, 524_289, 2_000_000])
    func cuts(step: Int) throws {
        let bytes = pattern(3 * BlockDigester.blockSize + 17)
        let pieces = stride(from: 0, to: bytes.count, by: step).map { Array(bytes[$0..<min($0 + step, bytes.count)]) }
        let whole = try hash([bytes])
        let cut = try hash(pieces)
        #expect(cut.content == whole.content)
        #expect(cut.digests == whole.digests)
    }

    /// The examples of FIPS 180-4 (NIST, "Secure Hash Standard: examples").
    @Test(
        "computes the SHA-256 on request",
        arguments: [
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ])
    func strong(text: String, digest: String) throws {
        var hasher = ContentHasher(secret: try makeSecret(1), withSHA256: true)
        Array(text.utf8).withUnsafeBytes { hasher.update($0) }
        #expect(hasher.finish().content.sha256?.description == digest)
        #expect(try hash([Array(text.utf8)]).content.sha256 == nil)
    }

    @Test(
        "gives one digest a block",
        arguments: [(0, 0), (1, 1), (524_287, 1), (524_288, 1), (524_289, 2), (1_048_576, 2)])
    func counts(size: Int, blocks: Int) throws {
        let result = try hash([pattern(size)])
        #expect(result.digests.count == blocks)
        #expect(result.content.seal.size == UInt64(size))
    }

    @Test(
        "gives the same digests with a helper, and calls `meanwhile` once for each update", arguments: [false, true],
        [nil, SerialThread(name: "helper")])
    func meanwhile(withSHA256: Bool, helper: SerialThread?) throws {
        let secret = try makeSecret(1)
        let calls = Atomic(0)
        var hasher = ContentHasher(secret: secret, withSHA256: withSHA256, helper: helper)
        var plain = ContentHasher(secret: secret, withSHA256: withSHA256)
        for size in [1_000_000, 48_576, 700] {
            pattern(size).withUnsafeBytes { bytes in
                hasher.update(bytes) { calls.add(1, ordering: .relaxed) }
                plain.update(bytes)
            }
        }
        let (result, expected) = (hasher.finish(), plain.finish())
        #expect(result.content == expected.content && result.digests == expected.digests)
        #expect((result.content.sha256 != nil) == withSHA256)
        #expect(calls.load(ordering: .relaxed) == 3)
    }

    @Test("seals every byte", arguments: [0, 1, 524_287, 524_288, 700_000, 1_048_575])
    func seal(position: Int) throws {
        var bytes = pattern(1_048_576)
        let before = try hash([bytes])
        bytes[position] ^= 1
        let after = try hash([bytes])
        #expect(before.content.seal != after.content.seal)
        let block = position / BlockDigester.blockSize
        #expect(before.digests[block] != after.digests[block])
        #expect(before.digests[1 - block] == after.digests[1 - block])
    }

    @Test("gives other digests with another secret, and the same key")
    func secret() throws {
        let bytes = pattern(600_000)
        let one = try hash([bytes], secret: 1)
        let other = try hash([bytes], secret: 2)
        #expect(one.digests[0] != other.digests[0])
        #expect(one.content.seal.digest != other.content.seal.digest)
        #expect(one.content.key == other.content.key)
    }
}

@Suite("Block digester")
struct BlockDigesterTests {
    @Test("agrees with the digests of the content hasher")
    func agrees() throws {
        let bytes = pattern(BlockDigester.blockSize + 100)
        let digests = try hash([bytes]).digests
        let digester = BlockDigester(secret: try makeSecret(1))
        for (index, block) in [bytes[..<BlockDigester.blockSize], bytes[BlockDigester.blockSize...]].enumerated() {
            Array(block).withUnsafeBytes { digester.update($0) }
            #expect(digester.finish() == digests[index])
        }
    }

    @Test("forgets what was added before a reset")
    func reset() throws {
        let digester = BlockDigester(secret: try makeSecret(1))
        let empty = digester.finish()
        pattern(10).withUnsafeBytes { digester.update($0) }
        digester.reset()
        #expect(digester.finish() == empty)
    }

    @Test("accepts secrets of one length only", arguments: [0, 136, 191, 193])
    func secretLength(count: Int) {
        #expect(DigestSecret([UInt8](repeating: 0, count: count)) == nil)
    }
}

private func makeSecret(_ seed: UInt8) throws -> DigestSecret {
    try #require(DigestSecret((0..<DigestSecret.length).map { UInt8(truncatingIfNeeded: $0) &* 31 &+ seed }))
}

private func pattern(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 ^ ($0 >> 8) &* 7) }
}

private func hash(_ pieces: [[UInt8]], secret seed: UInt8 = 1) throws -> (
    content: DropContent, digests: [UInt64], parts: [PartDigests]?
) {
    var hasher = ContentHasher(secret: try makeSecret(seed))
    for piece in pieces { piece.withUnsafeBytes { hasher.update($0) } }
    return hasher.finish()
}
