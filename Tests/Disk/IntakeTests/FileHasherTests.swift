import AgentTestSupport
import Foundation
import Glibc
import LinuxSystem
import Synchronization
import TestSupport
import Testing
import UploadCore

@testable import Digests
@testable import Intake

@Suite("File hasher")
struct FileHasherTests {
    private let place: TemporaryDirectory
    private let secret: DigestSecret

    init() throws {
        place = try TemporaryDirectory()
        secret = try #require(DigestSecret([UInt8](repeating: 9, count: DigestSecret.length)))
    }

    @Test(
        "returns key, size, digests, type and identity of a file, from one thread or two",
        arguments: [1, 262_144, 524_288, 524_289, 1_048_576, 1_500_000, 2_999_999], [nil, SerialThread(name: "helper")])
    func whole(size: Int, helper: SerialThread?) throws {
        var bytes = content(3, size)
        if size > 3 { bytes.replaceSubrange(0..<4, with: [0xFF, 0xD8, 0xFF, 0xE0]) }
        try write("a", bytes)
        guard case .content(let identity, let type, let found, let digests) = hash("a", helper: helper) else {
            Issue.record("not hashed")
            return
        }
        var hasher = ContentHasher(secret: secret)
        bytes.withUnsafeBytes { hasher.update($0) }
        let expected = hasher.finish()
        #expect(found == expected.content)
        #expect(digests == expected.digests)
        #expect(type.kind == (size > 3 ? .image : .other))
        #expect(identity == FileIdentity(try FileStatus(path: place.path("a"))))
    }

    @Test("finds the same in several files together as in each alone")
    func together() throws {
        try write("empty", [])
        for (number, size) in [0, 7_321, 262_140, 262_141, 900_000, 29_284, 524_284, 2_000_000, 58_568].enumerated() {
            try write("\(number)", [0xFF, 0xD8, 0xFF, 0xE0] + content(UInt8(number), size))
        }
        try write("text", Array("hello".utf8))
        try write("grown", content(1, 300))
        let names = ["0", "empty", "1", "2", "text", "3", "none", "4", "5", "grown", "6", "7", "8"]
        let jobs = try names.map { job(try #require(RelativePath($0))) }
        try write("grown", content(1, 400))
        let hasher = hasher(mediaOnly: true)
        let findings = hasher.hash(each: jobs)
        #expect(findings.map { "\($0)" } == jobs.map { "\(hasher.hash($0))" })
        #expect(findings.filter { if case .content = $0 { true } else { false } }.count == 9)
    }

    @Test("rejects files that the rules object to")
    func rejected() throws {
        try write("empty", [])
        try write("large", content(1, 3_000_001))
        try write("text", Array("hello".utf8))
        #expect(code(of: hash("empty")) == "empty")
        #expect(code(of: hash("large")) == "too_large")
        #expect(code(of: hash("text", mediaOnly: true)) == "unsupported_type")
    }

    @Test("reports a missing file as missing")
    func missing() throws {
        #expect(isMissing(hash("none")))
        #expect(isMissing(hash("none/a")))
        try write("file", [1])
        #expect(isMissing(hash("file/a")))
    }

    @Test("leaves files that are not regular to the watch, and never blocks on them")
    func notRegular() throws {
        try write("file", [1])
        #expect(mkfifo(place.path("fifo"), 0o600) == 0)
        try FileManager.default.createSymbolicLink(atPath: place.path("link"), withDestinationPath: "file")
        try FileManager.default.createDirectory(atPath: place.path("directory"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: place.path("way"), withDestinationPath: ".")
        for name in ["fifo", "link", "directory", "way/file"] {
            guard case .changed = hash(name) else {
                Issue.record("\(name) was not left alone")
                continue
            }
        }
    }

    @Test("treats a file that a writer touched since it settled as changed, even if it is quiet again")
    func writerCame() throws {
        try write("a", content(1))
        let found = FileIdentity(try FileStatus(path: place.path("a")))
        try write("a", content(2, 900))
        let path = try #require(RelativePath("a"))
        guard case .changed = hasher().hash(HashPool.Job(path: path, identity: found) { _ in }) else {
            Issue.record("it was taken")
            return
        }
    }

    @Test(
        "treats a file that grows or shrinks while it is read as changed, from one thread or two",
        arguments: [1_000_000, 2_000_000], [nil, SerialThread(name: "helper")])
    func changedMeanwhile(size: Int, helper: SerialThread?) throws {
        try write("a", content(1, 1_500_000))
        let path = try #require(RelativePath("a"))
        var job = job(path)
        // Called when the first piece was read.
        job.sniffed = { [file = place.path("a")] _, _, _, _ in truncate(file, size) }
        guard case .changed = hasher(helper: helper).hash(job) else {
            Issue.record("it was taken")
            return
        }
    }

    @Test("accepts a file if only its attributes changed")
    func attributes() throws {
        try write("a", content(1))
        let found = FileIdentity(try FileStatus(path: place.path("a")))
        chmod(place.path("a"), 0o640)
        let path = try #require(RelativePath("a"))
        guard case .content = hasher().hash(HashPool.Job(path: path, identity: found) { _ in }) else {
            Issue.record("it was not taken")
            return
        }
    }

    @Test("reports why a file can't be read", .enabled(if: geteuid() != 0))
    func unreadable() throws {
        try write("a", [1])
        chmod(place.path("a"), 0)
        #expect(code(of: hash("a")) == "unreadable")
    }

    @Test("hashes names of any bytes")
    func oddNames() throws {
        for bytes in [[0xFF, 0xFE], Array("a\nb".utf8), [UInt8](repeating: UInt8(ascii: "n"), count: 255)] {
            let name = try #require(RelativePath(bytes))
            let file = try Directory(path: place.path).open(bytes, flags: O_WRONLY | O_CREAT, mode: 0o600)
            _ = Glibc.write(file.rawValue, "x", 1)
            guard case .content = hasher().hash(job(name)) else {
                Issue.record("\(name) was not hashed")
                continue
            }
        }
    }

    private func hasher(mediaOnly: Bool = false, helper: SerialThread? = nil) -> FileHasher {
        let rules = IntakeRules(mediaOnly: mediaOnly, maxFileSize: 3_000_000, ignore: [], moveTo: nil)
        return FileHasher(files: OutboxFiles(root: place.path), rules: rules, secret: secret, helper: helper)
    }

    private func hash(_ name: String, mediaOnly: Bool = false, helper: SerialThread? = nil) -> HashFinding {
        guard let path = RelativePath(name) else { return .missing }
        return hasher(mediaOnly: mediaOnly, helper: helper).hash(job(path))
    }

    /// A job for the file as it is now.
    private func job(_ path: RelativePath) -> HashPool.Job {
        let status = try? OutboxFiles(root: place.path).status(of: path)
        let nothing = FileIdentity(device: 0, inode: 0, size: 0, modified: 0, changed: 0, born: 0)
        return HashPool.Job(path: path, identity: status.map(FileIdentity.init) ?? nothing) { _ in }
    }

    private func code(of result: HashFinding) -> String? {
        switch result {
        case .rejected(_, _, let error), .failed(_, _, _, let error), .unreadable(let error): error.code
        case .content, .changed, .missing: nil
        }
    }

    private func isMissing(_ result: HashFinding) -> Bool { if case .missing = result { true } else { false } }

    private func write(_ name: String, _ bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: place.path(name)))
    }
}

@Suite("Hash pool")
struct HashPoolTests {
    @Test("goes on with all other files while the reads of some do not return, and with the rest once they do")
    func stuck() async throws {
        let secret = try #require(DigestSecret([UInt8](repeating: 9, count: DigestSecret.length)))
        let rules = IntakeRules(mediaOnly: false, maxFileSize: .max, ignore: [], moveTo: nil)
        let isOpen = Mutex(false)
        defer { isOpen.withLock { $0 = true } }
        let threads = HashThreads(name: "hash", width: 1, stalls: Stalls(limit: .milliseconds(700))) {
            FileHasher(files: OutboxFiles(root: "/"), rules: rules, secret: secret)
        }
        let done = Mutex<[String]>([])
        let stalled = Mutex<[Bool]>([])
        let add = { @Sendable (name: String, device: UInt64, hangs: Bool) in
            threads.add(
                HashThreads.Work(
                    device: device, stall: Stalls.Stall(place: "usb", work: name),
                    body: { _ in
                        while hangs && !isOpen.withLock(\.self) { usleep(1000) }
                        done.withLock { $0.append(name) }
                    }, stalled: { isStalled in stalled.withLock { $0.append(isStalled) } }))
        }
        // More than the threads that may be left behind.
        for number in 0..<6 { add("stuck \(number)", 1, true) }
        for number in 0..<20 { add("quick \(number)", 2, false) }
        add("beside", 3, true)
        for number in 0..<20 { add("other \(number)", 3, false) }
        try await Poll.until("the others", lastState: { "\(done.withLock(\.self))" }) {
            done.withLock { $0.count } == 40
        }
        try await Poll.until("the stalls") { stalled.withLock { $0.count { $0 } } >= 5 }
        #expect(threads.stuckCount >= 6)
        await threads.finish()

        isOpen.withLock { $0 = true }
        try await Poll.until("the rest") { done.withLock { $0.count } == 47 }
        try await Poll.until("no stall") { threads.stuckCount == 0 }
    }

    @Test("hashes every file, whatever its size", arguments: [1, 2, 4])
    func all(threads: Int) async throws {
        let place = try TemporaryDirectory()
        let secret = try #require(DigestSecret([UInt8](repeating: 9, count: DigestSecret.length)))
        let rules = IntakeRules(mediaOnly: false, maxFileSize: .max, ignore: [], moveTo: nil)
        let pool = HashPool(files: OutboxFiles(root: place.path), rules: rules, secret: secret, threads: threads)
        let (results, sink) = AsyncStream.makeStream(of: Bool.self)
        for number in 0..<40 {
            try Data(content(UInt8(number))).write(to: URL(fileURLWithPath: place.path("\(number)")))
            let path = try #require(RelativePath("\(number)"))
            if number % 20 == 0 { truncate(place.path("\(number)"), Int(HashPool.largeSize) + 1) }
            if number % 20 == 1 { truncate(place.path("\(number)"), Int(HashPool.mostOfCompanion) + 1) }
            pool.add(
                .init(path: path, identity: FileIdentity(try FileStatus(path: place.path("\(number)")))) { result in
                    let isContent = if case .content = result { true } else { false }
                    sink.yield(isContent)
                })
        }
        var hashed = 0
        for await isContent in results.prefix(40) where isContent { hashed += 1 }
        #expect(hashed == 40)
    }
}
