import Glibc
import LinuxSystem
import Logging
import PictureJobs
import TestSupport
import Testing

@testable import MediaTools

@Suite("The built picture worker, as the agent sees it", .timeLimit(.minutes(2)))
struct RealWorkerTests {
    private let directory: TemporaryDirectory
    private let samples: SampleVideos
    private let worker: PictureWorker

    init() throws {
        directory = try TemporaryDirectory()
        samples = SampleVideos(directory: directory)
        worker = PictureWorker(
            program: try Program.path(of: "outbox-media"), processes: 2,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private func picture(_ name: String = "a.png", size: String = "300x200") async throws -> SharedDescriptor {
        try await samples.ffmpeg("-f lavfi -i testsrc=size=\(size) -frames:v 1 \(directory.path(name))")
        return try opened(directory.path(name))
    }

    private func perform(
        _ operation: PictureJob.Operation, on picture: SharedDescriptor, into name: String? = nil,
        maximumPixels: Int = 50_000_000
    ) async throws -> PictureFacts {
        let output = try name.map { try opened(directory.path($0), flags: O_RDWR | O_CREAT | O_TRUNC) }
        return try await worker.perform(operation, on: picture, into: output, maximumPixels: maximumPixels)
    }

    @Test func `it measures, draws and encodes`() async throws {
        let picture = try await picture()
        let facts = PictureFacts(width: 300, height: 200)
        #expect(try await perform(.measure, on: picture) == facts)
        #expect(try await perform(.thumbnail(side: 150, quality: 80), on: picture, into: "t.jpg") == facts)
        #expect(
            try await perform(.measure, on: opened(directory.path("t.jpg"))) == PictureFacts(width: 150, height: 150))
        #expect(try await perform(.draw(steps: ["round:96x96,r=48,b=2"]), on: picture, into: "r.png") == facts)
        #expect(try await perform(.measure, on: opened(directory.path("r.png"))) == PictureFacts(width: 96, height: 96))
        #expect(try await perform(.encode(quality: 70), on: picture, into: "e.jpg") == facts)
        #expect(try await perform(.measure, on: opened(directory.path("e.jpg"))) == facts)
    }

    @Test func `a picture with too many pixels is refused`() async throws {
        let picture = try await picture()
        await #expect {
            try await perform(.measure, on: picture, maximumPixels: 59_999)
        } throws: { error in
            guard case .refused(let refusal) = error as? PictureFailure else { return false }
            return refusal.reason == .tooManyPixels
        }
    }

    @Test func `a hundred pictures at once all get their own answer`() async throws {
        let pictures = [try await picture("a.png"), try await picture("b.png", size: "64x48")]
        let sizes = [PictureFacts(width: 300, height: 200), PictureFacts(width: 64, height: 48)]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                group.addTask {
                    let facts = try await perform(.measure, on: pictures[number % 2])
                    #expect(facts == sizes[number % 2])
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `when its processes are killed, the next picture finds new ones`() async throws {
        let picture = try await picture()
        for _ in 1...5 {
            _ = try await perform(.measure, on: picture)
            // Kills idle workers: this blames no picture and loses no job.
            for pid in worker.processIDs { kill(pid, SIGKILL) }
            try await Poll.until("they are gone") { worker.processIDs.isEmpty }
        }
        _ = try await perform(.measure, on: picture)
    }

    @Test func `a file that can't take the output is a failure, and not the picture's`() async throws {
        let picture = try await picture()
        let output = try opened("/dev/full", flags: O_RDWR)
        await #expect {
            try await worker.perform(
                .thumbnail(side: 150, quality: 80), on: picture, into: output, maximumPixels: 1_000_000)
        } throws: { error in
            if case .failed = error as? PictureFailure { true } else { false }
        }
    }
}
