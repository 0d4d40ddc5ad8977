import Foundation
import Glibc
import LinuxSystem
import PictureJobs
import TestSupport
import Testing

@Suite("The worker", .serialized, .enabled(if: WorkerProcess.isBuiltWithLibvips, "built without libvips"))
struct WorkerTests {
    private static let facts = PictureFacts(width: 48, height: 32)

    @Test("introduces itself, and ends when the socket closes")
    func hello() throws {
        let worker = try WorkerProcess()
        #expect(worker.hello.version == PictureWire.version)
        #expect(worker.hello.library.hasPrefix("libvips 8."))
        #expect(Set(worker.hello.formats).isSuperset(of: ["jpeg", "png", "gif", "webp", "heif", "avif", "tiff"]))
        #expect(worker.end() == 0)
    }

    @Test("loads no module of libvips but the one for HEIF")
    func modules() throws {
        let worker = try WorkerProcess()
        let maps = try String(contentsOfFile: "/proc/\(worker.pid)/maps", encoding: .utf8).split(separator: "\n")
        let modules = maps.filter { $0.contains("/vips-modules-") }.compactMap { $0.split(separator: "/").last }
        // A libvips that was built without modules has every decoder in itself.
        #expect(Set(modules).isSubset(of: ["vips-heif.so"]))
    }

    @Test("is sandboxed before its hello")
    func sandbox() throws {
        let worker = try WorkerProcess()
        let kernel = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        // Every kernel of the last ten years has both fields.
        #expect(worker.hello.sandbox.contains(.noNewPrivileges))
        #expect(try worker.status("NoNewPrivs") == "1")
        if kernel.contains("Seccomp:") {
            #expect(worker.hello.sandbox.contains(.seccomp))
            #expect(try worker.status("Seccomp") == "2")
        }
        #expect(try worker.status("Threads") == "1", "no thread was started before the lock")
        let limits = try String(contentsOfFile: "/proc/\(worker.pid)/limits", encoding: .utf8)
        for line in limits.split(separator: "\n") {
            if line.hasPrefix("Max core file size") { #expect(line.contains(" 0 ")) }
            if line.hasPrefix("Max address space") { #expect(!line.contains("unlimited")) }
            if line.hasPrefix("Max file size") { #expect(line.contains(" 268435456 ")) }
            if line.hasPrefix("Max open files") { #expect(line.contains(" 32 ")) }
        }
    }

    @Test("can be ended by the timer of a job: SIGPROF is neither blocked nor ignored")
    func clock() throws {
        let worker = try WorkerProcess()
        for mask in ["SigBlk", "SigIgn"] {
            let signals = try #require(UInt64(worker.status(mask), radix: 16))
            #expect(signals & 1 << (SIGPROF - 1) == 0, "\(mask)")
        }
    }

    @Test("survives signals meant for the agent")
    func signals() throws {
        let worker = try WorkerProcess()
        for number in [SIGINT, SIGTERM, SIGHUP] { kill(worker.pid, number) }
        #expect(try worker.perform(.measure, on: try Samples.bytes("rgb8.png")).outcome == .done(Self.facts))
    }

    @Test("answers an invalid job, and continues")
    func garbage() throws {
        let worker = try WorkerProcess()
        let packets = [
            Array("{".utf8), Array("{}".utf8), [0], [UInt8](repeating: 0x7B, count: PictureWire.longestPacket),
            [UInt8](repeating: 0x20, count: 3 * PictureWire.longestPacket),
            Array("{\"id\":-1,\"operation\":{\"measure\":{}},\"maximumPixels\":1}".utf8),
            Array("{\"id\":1,\"operation\":{\"format\":{}},\"maximumPixels\":1}".utf8),
            Array(String(repeating: "[", count: 10_000).utf8),
        ]
        for packet in packets {
            try worker.send(packet)
            let answer = try #require(try worker.answer())
            #expect(answer.id == 0 && answer.outcome.isFailed)
        }
        #expect(try worker.perform(.measure, on: try Samples.bytes("rgb8.png")).outcome == .done(Self.facts))
    }

    @Test("requires exactly the descriptors of a job, and keeps none")
    func descriptors() throws {
        let worker = try WorkerProcess()
        let file = try SharedDescriptor(opening: "/dev/null", flags: O_RDWR)
        let open = try worker.openDescriptors()
        for (operation, counts) in [
            (PictureJob.Operation.measure, [0, 2, 3, 4]), (.encode(quality: 85), [0, 1, 3, 4]),
        ] {
            for count in counts {
                let job = PictureJob(id: 7, operation: operation, maximumPixels: 1)
                try worker.send(try PictureWire.packet(of: job), with: Array(repeating: file, count: count))
                let answer = try #require(try worker.answer())
                #expect(answer.id == 7 && answer.outcome.isFailed, "\(count) descriptors")
            }
        }
        #expect(try worker.openDescriptors() == open)
    }

    @Test("reports an unwritable output, and doesn't blame the picture")
    func unwritable() throws {
        let worker = try WorkerProcess()
        let picture = try SharedDescriptor(opening: Samples.path("rgb8.png"), flags: O_RDONLY)
        for (path, flags) in [("/dev/full", O_RDWR), ("/dev/null", O_RDONLY)] {
            let output = try SharedDescriptor(opening: path, flags: flags)
            for job in [PictureJob.Operation.thumbnail(side: 150, quality: 85), .draw(steps: ["original"])] {
                #expect(try worker.perform(job, on: picture, into: output).isFailed, "\(path)")
            }
        }
    }

    @Test("performs a thousand good and bad jobs without leaking descriptors or memory")
    func endurance() throws {
        let worker = try WorkerProcess()
        let names = ["baseline.jpg", "rgb8.png", "animated.gif", "lossy.webp", "tiled.tif", "raw-preview.tif"]
        let pictures = try names.map { try SharedDescriptor(opening: Samples.path($0), flags: O_RDONLY) }
        let directory = try TemporaryDirectory()
        let output = try SharedDescriptor(opening: directory.path("out"), flags: O_RDWR | O_CREAT, mode: 0o600)
        let jobs: [PictureJob.Operation] = [
            .measure, .thumbnail(side: 64, quality: 85), .encode(quality: 85), .draw(steps: ["round:64x64,r=9,b=2"]),
            .draw(steps: ["nonsense"]),
        ]
        var before = (descriptors: 0, memory: 0)
        for number in 0..<1100 {
            if number == 100 { before = (try worker.openDescriptors(), try memory(of: worker)) }
            let outcome = try worker.perform(
                jobs[number % jobs.count], on: pictures[number % pictures.count], into: output)
            #expect(outcome.isFailed == (number % jobs.count == 4))
        }
        #expect(try worker.openDescriptors() == before.descriptors)
        let grown = try memory(of: worker) - before.memory
        #expect(grown < 16_384, "\(grown) KiB more after 1,000 jobs")
    }

    @Test("explains itself if a user starts it")
    func byHand() throws {
        let path = try Program.path(of: "outbox-media")
        let help = try Command.run(path, ["--help"])
        #expect(
            help.code == 0 && help.output.contains("picture worker") && help.output.split(separator: "\n").count < 25)
        #expect(try Command.run(path, ["--version"]).output.contains("libvips"))
        #expect(try Command.run(path, [], errors: .nullDevice).code == 64)
        #expect(try Command.run(path, ["picture.jpg"], errors: .nullDevice).code == 64)
    }

    /// Resident memory in KiB.
    private func memory(of worker: WorkerProcess) throws -> Int {
        try #require(worker.status("VmRSS").split(separator: " ").first.flatMap { Int($0) })
    }
}

@Suite("The worker without libvips", .enabled(if: !WorkerProcess.isBuiltWithLibvips, "built with libvips"))
struct WorkerWithoutLibvipsTests {
    @Test("ends at once and says what to install")
    func missing() throws {
        let errors = Pipe()
        let path = try Program.path(of: "outbox-media")
        let command = try Command.run(path, [], errors: errors.fileHandleForWriting)
        #expect(command.code == 69)
        let text = String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)
        #expect(text.contains("libvips-dev"))
    }
}
