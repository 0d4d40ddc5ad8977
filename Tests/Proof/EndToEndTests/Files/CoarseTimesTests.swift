import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

/// A file system image with times in whole seconds: ext2 with inodes of 128 bytes.
private final class CoarseDisk {
    private let directory: TemporaryDirectory
    let path: String

    static var isPossible: Bool {
        geteuid() == 0 && access("/dev/loop-control", R_OK | W_OK) == 0 && (try? tool("mkfs.ext2")) != nil
    }
    static let why = "needs root, loop devices and mkfs.ext2 (e2fsprogs)"

    private static func tool(_ name: String) throws -> String {
        let places = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map { "\($0)/\(name)" }
        guard let place = places.first(where: { access($0, X_OK) == 0 }) else { throw Surprise("no \(name)") }
        return place
    }

    private static func run(_ name: String, _ arguments: String...) async throws {
        let output = try await Program.run(
            tool(name), arguments, environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"], directory: "/")
        guard output.code == 0 else { throw Surprise("\(name): \(output)") }
    }

    init() async throws {
        directory = try TemporaryDirectory(prefix: "outbox-coarse")
        path = directory.path("disk")
        try Files.makeDirectory(path)
        try Files.write([], to: directory.path("image"))
        guard truncate(directory.path("image"), 16 << 20) == 0 else { throw Surprise("truncate: \(errno)") }
        try await Self.run("mkfs.ext2", "-q", "-F", "-I", "128", directory.path("image"))
        try await Self.run("mount", "-o", "loop", directory.path("image"), path)
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    func times(of name: String) -> [Int] {
        var status = stat()
        guard lstat("\(path)/\(name)", &status) == 0 else { return [] }
        return [
            status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
            Int(status.st_size),
        ]
    }
}

@Suite(
    "On a file system with times in whole seconds", .heavy, .enabled(if: CoarseDisk.isPossible, "\(CoarseDisk.why)"))
struct CoarseTimesTests {
    @Test("a file overwritten within the second of its hashing is uploaded again")
    func overwritten() async throws {
        let disk = try await CoarseDisk()
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["outbox": .string(disk.path)])
        func sidecar(_ name: String) throws -> Sidecar? {
            guard let data = FileManager.default.contents(atPath: "\(disk.path)/\(name).outbox.json") else {
                return nil
            }
            return try JSONDecoder().decode(Sidecar.self, from: data)
        }
        try await agent.start()
        // A busy machine needs several attempts until all steps fall into one second, so the test runs alone.
        for attempt in 0..<100 {
            let name = "\(attempt).jpg"
            let (old, new) = (SampleMedia.jpeg.bytes(size: 2000, seed: 1), SampleMedia.jpeg.bytes(size: 2000, seed: 2))
            try await Poll.until("a second to begin") {
                var time = timespec()
                clock_gettime(CLOCK_REALTIME, &time)
                return time.tv_nsec < 100_000_000
            }
            try Files.write(old, to: "\(disk.path)/\(name)")
            let times = disk.times(of: name)
            try await Poll.until("\(name) to be done", lastState: { agent.log }) {
                try sidecar(name)?.state == .done
            }
            try Files.write(new, to: "\(disk.path)/\(name)")
            if disk.times(of: name) != times { continue }
            try await Poll.until("the new content of \(name)", lastState: { agent.log }) {
                guard let sidecar = try sidecar(name) else { return false }
                return sidecar.state == .done && sidecar.key == Digest.md5(new)
            }
            #expect(Set(server.finished) == [Digest.md5(old), Digest.md5(new)])
            try await agent.stop()
            return
        }
        Issue.record("no attempt fell into one second")
    }
}
