import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

/// Tests the receiver without an agent, from outside.
@Suite("The receiver")
struct ReceiverTests {
    private static let environment = ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"]

    private static func run(
        _ arguments: [String], _ environment: [String: String] = [:]
    ) async throws -> Program.Output {
        try await Program.run(
            "outbox-receiver", arguments, environment: Self.environment.merging(environment) { $1 }, directory: "/")
    }

    private static func port(of program: Program) async throws -> Int {
        try await Poll.value("the receiver to listen", lastState: { program.errorTail() }) {
            if let ending = program.ending { throw Surprise("it ended: \(ending)\n\(program.errorTail())") }
            let line = program.standardOutput.split(separator: "\n").last { $0.contains("listening on") }
            return line?.split(separator: ":").last.flatMap { Int($0) }
        }
    }

    // MARK: Starting and stopping

    @Test(
        "without tokens, it refuses to listen beyond this machine and says what to do",
        arguments: ["0.0.0.0:0", "[::]:0"])
    func loopbackOnly(address: String) async throws {
        let directory = try TemporaryDirectory()
        let output = try await Self.run(["--root", directory.path("root"), "--listen", address])
        #expect(output.code == 78)
        #expect(output.standardError.contains("--token-file"))
        #expect(output.standardError.split(separator: "\n").count == 1)
    }

    @Test(
        "wrong usage exits with 64 and one line",
        arguments: [
            ([], "missing expected argument '--root <root>'"),
            (["--root", "r", "--nonsense"], "unknown option '--nonsense'"),
            (
                ["--root", "r", "--log-level", "loud"],
                "--log-level: unknown level loud; use trace, debug, info, notice, warning, error or critical"
            ),
        ] as [([String], String)])
    func usage(arguments: [String], reason: String) async throws {
        let output = try await Self.run(arguments)
        #expect(output.code == 64)
        #expect(output.standardError == "outbox-receiver: \(reason); see `outbox-receiver --help`\n")
        #expect(output.standardOutput.isEmpty)
    }

    @Test("--help goes to stdout, with status 0")
    func help() async throws {
        let output = try await Self.run(["--help"])
        #expect(output.code == 0)
        #expect(output.standardOutput.contains("--root"))
        #expect(output.standardError.isEmpty)
    }

    @Test("--version prints the agent's version")
    func version() async throws {
        let output = try await Self.run(["--version"])
        #expect(output.code == 0)
        let agent = try await Program.run("outbox", ["--version"], environment: Self.environment, directory: "/")
        #expect(output.standardOutput == agent.standardOutput)
    }

    @Test(
        "--version prints the same version in every program",
        arguments: ["outbox-bench", "outbox-trials", "outbox-media"])
    func versions(program: String) async throws {
        let agent = try await Self.run(["--version"])
        let version = agent.standardOutput.trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(version.wholeMatch(of: /\d+\.\d+\.\d+.*/) != nil)
        let output = try await Program.run(program, ["--version"], environment: Self.environment, directory: "/")
        #expect(output.code == 0)
        #expect(output.standardOutput.split { " ,\n".contains($0) }.contains(Substring(version)), "\(output)")
    }

    @Test("the credential \"tokens\" of the service manager stands in for --token-file")
    func credentials() async throws {
        let directory = try TemporaryDirectory()
        var environment = Self.environment
        environment["CREDENTIALS_DIRECTORY"] = directory.path
        let arguments = ["--root", directory.path("root"), "--listen", "127.0.0.1:0"]
        try Files.write(Array("# no token yet\n".utf8), to: directory.path("tokens"))
        let refused = try await Program.run(
            "outbox-receiver", arguments, environment: environment, directory: directory.path)
        #expect(refused.code == 78)
        #expect(refused.standardError.contains("\(directory.path("tokens")) holds no token"), "\(refused)")
    }

    @Test("--quota bounds what one user may store")
    func quota() async throws {
        let receiver = try Receiver()
        receiver.options = ["--quota", "20KiB"]
        try await receiver.start()
        let client = try ReceiverClient(port: receiver.port)
        #expect(try client.preLoad([UInt8](repeating: 1, count: 6000), name: "a.jpg").status == 200)
        #expect(try client.preLoad([UInt8](repeating: 2, count: 6000), name: "b.jpg").status == 507)
        #expect(try client.preLoad([UInt8](repeating: 3, count: 400), name: "c.jpg").status == 200)
    }

    @Test(
        "a post's page shows a small version of a picture",
        arguments: [("heic.heic", "image/heic"), ("baseline.jpg", "image/jpeg")])
    func smallPictures(name: String, type: String) async throws {
        let receiver = try await Receiver.started()
        let picture = try Data(
            contentsOf: URL(fileURLWithPath: Repository.path("Tests/Programs/MediaWorkerTests/Fixtures/\(name)")))
        let client = try ReceiverClient(port: receiver.port)
        let id = try #require(try client.preLoad([UInt8](picture), name: name, type: type).id)
        #expect(try client.sendBlock(1, of: [UInt8](picture), id: id) == 200)
        let url = try await Poll.value("the upload to be finished", lastState: { "" }) { try client.url(of: id) }
        // http://HOST:PORT/f/TOKEN/NAME
        let token = url.split(separator: "/")[3]
        let sides = NumberedPicture.sides(ofJPEG: [UInt8](try client.get("/t/\(token).jpg")))
        #expect(sides?.width == 480 && sides?.height == 480)
        let cover = try #require(NumberedPicture.sides(ofJPEG: [UInt8](try client.get("/t/\(token)-cover.jpg"))))
        #expect(cover.width != cover.height && max(cover.width, cover.height) <= 1600, "\(cover)")
    }

    @Test("with tokens in the environment, it listens beyond this machine")
    func tokensInEnvironment() async throws {
        let directory = try TemporaryDirectory()
        let program = try Program(
            "outbox-receiver", ["--root", directory.path("root"), "--listen", "0.0.0.0:0"],
            environment: Self.environment.merging(["OUTBOX_RECEIVER_TOKENS": "secret anna"]) { $1 },
            directory: directory.path, outputPrefix: directory.path("log"))
        let client = try ReceiverClient(port: try await Self.port(of: program))
        #expect(try client.preLoad([1], name: "a.jpg").status == 401)
        #expect(try client.preLoad([1], name: "a.jpg", token: "secret").status == 200)
    }

    @Test("a changed token file is read again, and a world-readable one causes a warning")
    func tokenFile() async throws {
        let directory = try TemporaryDirectory()
        let tokens = directory.path("tokens")
        try Files.write(Array("# family\nold anna\n".utf8), to: tokens)
        chmod(tokens, 0o644)
        let program = try Program(
            "outbox-receiver", ["--root", directory.path("root"), "--listen", "127.0.0.1:0", "--token-file", tokens],
            environment: Self.environment, directory: directory.path, outputPrefix: directory.path("log"))
        let client = try ReceiverClient(port: try await Self.port(of: program))
        try await Poll.until("the warning", lastState: { program.errorTail() }) {
            program.standardError.contains("chmod 600")
        }
        #expect(try client.preLoad([1], name: "a.jpg", token: "old").status == 200)
        try Files.write(Array("new anna\n".utf8), to: tokens)
        try await Poll.until("the new token to be taken") {
            try client.preLoad([1], name: "a.jpg", token: "new").status == 200
        }
        #expect(try client.preLoad([1], name: "a.jpg", token: "old").status == 401)
    }

    @Test("a second receiver on the same root is refused")
    func secondReceiver() async throws {
        let receiver = try await Receiver.started()
        let output = try await Self.run(["--root", receiver.root, "--listen", "127.0.0.1:0"])
        #expect(output.code == 75)
        #expect(output.standardError.contains(receiver.root))
    }

    @Test("with few descriptors, it serves on beside more idle connections than fit; with too few it refuses to start")
    func fewDescriptors() async throws {
        let receiver = try Receiver()
        receiver.options = ["--max-connections-per-address", "1000"]
        receiver.launcher = ["/usr/bin/prlimit", "--nofile=160"]
        try await receiver.start()
        let idle = try (0..<200).map { _ in try ReceiverClient(port: receiver.port) }
        let begun = ContinuousClock.now
        let client = try ReceiverClient(port: receiver.port)
        let content = SeededContent.bytes(100_000, seed: 1)
        let id = try #require(try client.preLoad(content, name: "a.jpg").id)
        #expect(try client.sendBlock(1, of: content, id: id) == 200)
        #expect(ContinuousClock.now - begun < .seconds(20))
        withExtendedLifetime(idle) {}
        let refused = try await Program.run(
            "/usr/bin/prlimit",
            ["--nofile=64", Program.path(of: "outbox-receiver"), "--root", receiver.directory.path("other")],
            environment: Self.environment, directory: "/")
        #expect(refused.code == 78)
        #expect(refused.standardError.contains("`ulimit -n` is 64"))
    }

    @Test("port 0 on IPv6 is announced as the actual port")
    func ipv6() async throws {
        let directory = try TemporaryDirectory()
        let program = try Program(
            "outbox-receiver", ["--root", directory.path("root"), "--listen", "[::1]:0"],
            environment: Self.environment, directory: directory.path, outputPrefix: directory.path("log"))
        #expect(try await Self.port(of: program) > 0)
        #expect(program.standardOutput.contains("http://[::1]:"))
    }

    @Test("SIGTERM ends it in the middle of a request, and the upload can continue after a restart")
    func termination() async throws {
        let receiver = try await Receiver.started()
        let content = SeededContent.bytes(600_000, seed: 1)
        let client = try ReceiverClient(port: receiver.port)
        let id = try #require(try client.preLoad(content, name: "a.jpg").id)
        #expect(try client.sendBlock(1, of: content, id: id) == 200)
        try client.beginBlock(2, of: content, id: id)
        receiver.program?.kill(SIGTERM)
        #expect(try await receiver.program?.wait() == .exited(0))
        try await receiver.start()
        let next = try ReceiverClient(port: receiver.port)
        #expect(try next.finishStatus(id) == 0, "the block that was cut off does not count")
        #expect(try next.sendBlock(2, of: content, id: id) == 200)
        try await Poll.until("the upload to be finished") { try next.finishStatus(id) == 1 }
        let file = try #require(Files.regularFiles(receiver.root + "/files").first { $0.hasSuffix("a.jpg") })
        #expect(FileManager.default.contents(atPath: "\(receiver.root)/files/\(file)") == Data(content))
    }

    // MARK: A full disk

    @Test("on a full disk, it refuses fragments with 507, counts none of them, and resumes when there is space")
    func fullDisk() async throws {
        let directory = try TemporaryDirectory()
        let root = directory.path("root")
        try Files.makeDirectory(root)
        let script = "mount -t tmpfs -o size=12m tmpfs \(root) && exec \"$@\""
        let permitted = try await Program.run(
            "/usr/bin/unshare", ["-rm", "sh", "-c", "mount -t tmpfs tmpfs \(root)"], environment: Self.environment,
            directory: "/")
        guard permitted.code == 0 else { return print("skipped: unshare -rm and mount are not permitted here") }
        let program = try Program(
            "/usr/bin/unshare",
            [
                "-rm", "sh", "-c", script, "sh", try Program.path(of: "outbox-receiver"), "--root", root, "--listen",
                "127.0.0.1:0", "--free-space-floor", "1MiB",
            ],
            environment: Self.environment, directory: directory.path, outputPrefix: directory.path("log"))
        let client = try ReceiverClient(port: try await Self.port(of: program))
        let content = SeededContent.bytes(3 * 524_288, seed: 2)
        let id = try #require(try client.preLoad(content, name: "a.jpg").id)
        #expect(try client.sendBlock(1, of: content, id: id) == 200)

        let mounted = "/proc/\(program.pid)/root\(root)"
        let filler = open("\(mounted)/filler", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        let piece = [UInt8](repeating: 1, count: 65536)
        while write(filler, piece, piece.count) > 0 {}
        close(filler)
        #expect(try client.sendBlock(2, of: content, id: id) == 507)
        #expect(try client.sendBlock(3, of: content, id: id) == 507)
        #expect(try client.preLoad(SeededContent.bytes(100, seed: 3), name: "b.jpg").status == 507)
        #expect(try client.finishStatus(id) == 0)

        unlink("\(mounted)/filler")
        #expect(try client.sendBlock(2, of: content, id: id) == 200)
        #expect(try client.sendBlock(3, of: content, id: id) == 200)
        try await Poll.until("the upload to be finished", lastState: { program.errorTail() }) {
            try client.finishStatus(id) == 1
        }
        #expect(try Digest.md5(file: "\(mounted)/files/local/a.jpg") == Digest.md5(content))
    }

    // MARK: Kills

    /// `OUTBOX_TRIAL_STORE_KILLS` sets the number of kills, `OUTBOX_TRIAL_SEED` repeats a run.
    @Test(
        "after random kills, it has everything it acknowledged, and no stray files", .timeLimit(.minutes(10))
    )
    func kills() async throws {
        let kills = Trial.number("OUTBOX_TRIAL_STORE_KILLS") ?? 8
        var trial = Trial("receiver alone, kills")
        let receiver = try Receiver()
        var answered = Answered()
        for kill in 0..<kills {
            try await receiver.start()
            let port = receiver.port
            let first = kill * 1000
            let load = Task.detached { Self.load(port, from: first) }
            usleep(UInt32.random(in: 1000...150_000, using: &trial.random))
            try await receiver.kill()
            answered.merge(await load.value)
        }
        try await receiver.start()
        let client = try ReceiverClient(port: receiver.port)
        for (id, seed) in answered.finished {
            #expect(try client.finishStatus(id) == 1, "\(seed) was confirmed, seed \(trial.seed)")
        }
        for (id, upload) in answered.open {
            let content = SeededContent.bytes(SeededContent.large, seed: upload.seed)
            for number in 1...ReceiverClient.blocks(content) where !upload.blocks.contains(number) {
                #expect(try client.sendBlock(number, of: content, id: id) == 200, "seed \(trial.seed)")
            }
            try await Poll.until("an upload of kept blocks to be finished, seed \(trial.seed)") {
                try client.finishStatus(id) == 1
            }
        }
        for object in Files.regularFiles("\(receiver.root)/objects") {
            let digest = try Digest.md5(file: "\(receiver.root)/objects/\(object)")
            #expect(object.hasSuffix("/\(digest)"), "seed \(trial.seed)")
        }
        let objects = Set(try receiver.objects())
        #expect(try Set(receiver.files().values) == objects, "tree and objects agree, seed \(trial.seed)")
        print("receiver alone: \(kills) kills, \(answered.finished.count) confirmed, \(answered.open.count) unfinished")
        // The files left in uploads/ belong to issued ids; an interrupted load leaves at most one.
        #expect(Files.regularFiles("\(receiver.root)/uploads").count <= 2 * kills, "seed \(trial.seed)")
        #expect(!Files.regularFiles(receiver.root).contains { $0.hasSuffix(".new") || $0.hasSuffix(".part") })
    }

    /// The uploads that a receiver acknowledged before its kill.
    private struct Answered: Sendable {
        /// The seeds of finished contents, by id.
        var finished: [String: UInt64] = [:]
        var open: [String: (seed: UInt64, blocks: Set<Int>)] = [:]

        mutating func merge(_ other: Answered) {
            finished.merge(other.finished) { $1 }
            open.merge(other.open) { $1 }
        }
    }

    /// Uploads small files and one unfinished file, until the connection breaks.
    private static func load(_ port: Int, from first: Int) -> Answered {
        var answered = Answered()
        guard let client = try? ReceiverClient(port: port) else { return answered }
        let large = SeededContent.bytes(SeededContent.large, seed: UInt64(first))
        do {
            let open = try client.preLoad(large, name: "\(first).jpg").id
            if let open {
                answered.open[open] = (UInt64(first), [])
                for number in [3, 1] where try client.sendBlock(number, of: large, id: open) == 200 {
                    answered.open[open]?.blocks.insert(number)
                }
            }
            for seed in (first + 1)... {
                let content = SeededContent.bytes(5000, seed: UInt64(seed))
                guard let id = try client.preLoad(content, name: "\(seed).jpg").id else { continue }
                _ = try client.sendBlock(1, of: content, id: id)
                if try client.finishStatus(id) == 1 { answered.finished[id] = UInt64(seed) }
            }
        } catch {
            // The kill ended the connection.
        }
        return answered
    }
}

private enum SeededContent {
    /// The size of four blocks.
    static let large = 3 * 524_288 + 100

    /// Returns quickly generated bytes that differ by seed and by block.
    static func bytes(_ count: Int, seed: UInt64) -> [UInt8] {
        var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: seed), count: count)
        for start in stride(from: 0, to: count - 16, by: 524_288) {
            withUnsafeBytes(of: (seed, start)) { bytes.replaceSubrange(start..<start + 16, with: $0) }
        }
        return bytes
    }
}
