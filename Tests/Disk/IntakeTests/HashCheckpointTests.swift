import Foundation
import Glibc
import LinuxSystem
import Synchronization
import TestSupport
import Testing
import UploadCore

@testable import Digests
@testable import Intake

@Suite("Checkpoints of hashing")
struct HashCheckpointTests {
    private let place: TemporaryDirectory
    private let secret: DigestSecret
    private let size = 64 << 20
    private var directory: String { place.path("hashing") }

    init() throws {
        place = try TemporaryDirectory()
        secret = try #require(DigestSecret([UInt8](repeating: 9, count: DigestSecret.length)))
        try SampleMedia.mp4.writeSparse(to: place.path("a.mp4"), size: size)
    }

    private func hasher(
        stop: HashPool.Stop? = nil, secret: DigestSecret? = nil, helper: SerialThread? = nil
    ) -> FileHasher {
        let rules = IntakeRules(mediaOnly: true, maxFileSize: 1 << 40, ignore: [], moveTo: nil)
        return FileHasher(
            files: OutboxFiles(root: place.path), rules: rules, secret: secret ?? self.secret, helper: helper,
            checkpoints: HashCheckpoints(directory: directory, leastSize: 1 << 20, interval: .zero), stop: stop)
    }

    private func hash(
        _ hasher: FileHasher, hashed: (@Sendable (UInt64) -> Void)? = nil
    ) throws -> HashFinding {
        let path = try #require(RelativePath("a.mp4"))
        let identity = FileIdentity(try FileStatus(path: place.path("a.mp4")))
        return hasher.hash(HashPool.Job(path: path, identity: identity, hashed: hashed) { _ in })
    }

    private func content(_ result: HashFinding) throws -> (DropContent, [UInt64]) {
        guard case .content(_, _, let content, let digests) = result else {
            throw CancellationError()
        }
        return (content, digests)
    }

    /// Hashes the file and returns its content. `from` is the position in the first progress report.
    private func begin(_ secret: DigestSecret? = nil) throws -> (from: UInt64?, content: DropContent, digests: [UInt64])
    {
        let first = Mutex<UInt64?>(nil)
        let result = try hash(hasher(secret: secret)) { bytes in first.withLock { $0 = $0 ?? bytes } }
        let (found, digests) = try content(result)
        return (first.withLock(\.self), found, digests)
    }

    private var files: [String] { (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] }

    /// Hashes a part of the file, like an agent that ends during the hash.
    private func interrupt() throws {
        let stop = HashPool.Stop()
        // Although set before the start, the hasher still reads one block.
        stop.set()
        _ = try hash(hasher(stop: stop))
        #expect(files.count == 1)
    }

    @Test("resume an interrupted hash with the same result, and are removed afterwards")
    func goesOn() throws {
        let whole = try content(try hash(hasher()))
        #expect(files.isEmpty)
        try interrupt()
        let begun = try begin()
        #expect(begun.from == UInt64(BlockDigester.blockSize))
        #expect(begun.content == whole.0 && begun.digests == whole.1)
        #expect(files.isEmpty)
    }

    @Test("of a hash by one thread are resumed by two, which store more of them")
    func otherThreads() throws {
        let whole = try content(try hash(hasher()))
        try interrupt()
        let stop = HashPool.Stop()
        // Although set before the start, two threads still hash one piece.
        stop.set()
        _ = try hash(hasher(stop: stop, helper: SerialThread(name: "helper")))
        let reports = Mutex<[UInt64]>([])
        let result = try hash(hasher(helper: SerialThread(name: "helper"))) { bytes in
            reports.withLock { $0.append(bytes) }
        }
        let found = try content(result)
        #expect(found == whole)
        #expect(reports.withLock(\.first) == UInt64(BlockDigester.blockSize + FilePieces.sizeAhead))
        #expect(files.isEmpty)
    }

    @Test("are ignored if truncated, damaged, or made for another ledger or state of the file")
    func notOurs() throws {
        let whole = try content(try hash(hasher()))
        let other = try #require(DigestSecret([UInt8](repeating: 8, count: DigestSecret.length)))
        try interrupt()
        #expect(try begin(other).from != UInt64(BlockDigester.blockSize))

        for harm in ["cut", "flip", "chmod"] {
            try interrupt()
            let path = "\(directory)/\(try #require(files.first))"
            switch harm {
            case "cut": truncate(path, 120)
            case "flip":
                var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
                bytes[bytes.count - 20] ^= 1
                try bytes.write(to: URL(fileURLWithPath: path))
            default: chmod(place.path("a.mp4"), 0o600)
            }
            let begun = try begin()
            #expect(begun.from != UInt64(BlockDigester.blockSize), "\(harm)")
            #expect(begun.content == whole.0, "\(harm)")
        }
    }

    @Test("append records, and load the last sound one")
    func appended() throws {
        let identity = FileIdentity(try FileStatus(path: place.path("a.mp4")))
        let checkpoints = HashCheckpoints(directory: directory, leastSize: 0, interval: .zero)
        let md5 = StoredState(secret).md5
        let first = try #require(checkpoints.checkpoint(of: identity, secret: secret))
        #expect(first.load() == nil)
        for count in [1, 3, 4] { first.store(HashProgress(state: md5, digests: (0..<count).map { UInt64($0) })) }
        let second = try #require(checkpoints.checkpoint(of: identity, secret: secret))
        #expect(second.load()?.digests == [0, 1, 2, 3])
        second.store(HashProgress(state: md5, digests: [0, 1, 2, 3, 4]))
        let third = try #require(checkpoints.checkpoint(of: identity, secret: secret))
        #expect(third.load() == HashProgress(state: md5, digests: [0, 1, 2, 3, 4]))
        truncate("\(directory)/\(try #require(files.first))", off_t(try size(of: try #require(files.first)) - 1))
        #expect(third.load()?.digests == [0, 1, 2, 3])
    }

    private struct StoredState {
        let md5: [UInt8]
        init(_ secret: DigestSecret) { md5 = ContentHasher(secret: secret).progress?.state ?? [] }
    }

    private func size(of name: String) throws -> Int {
        Int(try FileStatus(path: "\(directory)/\(name)").size)
    }
}
