import Foundation
import Glibc
import LinuxSystem
import Logging
import PictureJobs
import Synchronization
import TestSupport
import Testing
import UploadCore

@testable import MediaTools

@Suite("The examiner of media", .timeLimit(.minutes(3)))
struct MediaExaminerTests {
    private let directory: TemporaryDirectory
    private let samples: SampleVideos
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    private let key = ContentKey(high: 1, low: 2)
    private let png = MediaType(kind: .image, mime: "image/png")

    init() throws {
        directory = try TemporaryDirectory()
        samples = SampleVideos(directory: directory)
    }

    private var thumbnails: String { directory.path("state/thumbnails") }

    private func examiner(
        _ pictures: any PictureWorking, videos: VideoTools = VideoPrograms.found, thumbnails: Bool = true
    ) -> MediaExaminer {
        MediaExaminer(
            pictures: pictures, videos: videos, thumbnails: thumbnails ? self.thumbnails : nil, logger: logger)
    }

    private func realExaminer() throws -> MediaExaminer {
        examiner(PictureWorker(program: try Program.path(of: "outbox-media"), processes: 1, logger: logger).background)
    }

    private func picture(_ size: String = "300x200") async throws -> SharedDescriptor {
        try await samples.ffmpeg("-f lavfi -i testsrc=size=\(size) -frames:v 1 \(directory.path("picture.png"))")
        return try opened(directory.path("picture.png"))
    }

    private func files() throws -> [String] {
        guard FileManager.default.fileExists(atPath: thumbnails) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: thumbnails)
    }

    private func thumbnailSize() async throws -> [Int?] {
        let path = "\(thumbnails)/00000000000000010000000000000002.jpg"
        let facts = try await realExaminer().facts(of: opened(path), MediaType(kind: .image, mime: "image/jpeg")).facts
        return [facts.width, facts.height]
    }

    @Test func `a picture has a size and gets a thumbnail`() async throws {
        let examiner = try realExaminer()
        let picture = try await picture()
        let (facts, isFinal) = await examiner.facts(of: picture, png)
        #expect(facts == MediaFacts(width: 300, height: 200))
        #expect(isFinal)
        #expect(await examiner.makeThumbnail(of: picture, png, key: key) == .there)
        #expect(try files() == ["00000000000000010000000000000002.jpg"])
        #expect(try await thumbnailSize() == [150, 150])
    }

    @Test func `a video has a size and a duration, and gets a thumbnail`() async throws {
        let examiner = try realExaminer()
        let video = try opened(try await samples.make("v.mp4", "-c:v libx264"))
        let type = MediaType(video: "mp4")
        let (facts, isFinal) = await examiner.facts(of: video, type)
        #expect(facts == MediaFacts(width: 320, height: 240, duration: 2))
        #expect(isFinal)
        #expect(await examiner.makeThumbnail(of: video, type, key: key, duration: 2) == .there)
        #expect(try await thumbnailSize() == [150, 150])
    }

    @Test func `what is no picture has no size, for good, and gets no thumbnail`() async throws {
        let examiner = try realExaminer()
        let file = try opened(try directory.file("a.png", "not a picture at all"))
        let (facts, isFinal) = await examiner.facts(of: file, png)
        #expect(facts == MediaFacts() && isFinal)
        guard case .none = await examiner.makeThumbnail(of: file, png, key: key) else {
            Issue.record("it got a thumbnail")
            return
        }
        #expect(try files() == [])
    }

    @Test func `a thumbnail that is there is not made again`() async throws {
        let pictures = MadeUpPictures { _ in .success(PictureFacts(width: 1, height: 1)) }
        let examiner = examiner(pictures)
        try FileManager.default.createDirectory(atPath: thumbnails, withIntermediateDirectories: true)
        try Data([0xFF, 0xD8, 1, 2, 3, 0xFF, 0xD9]).write(to: URL(fileURLWithPath: "\(thumbnails)/\(key).jpg"))
        #expect(await examiner.makeThumbnail(of: try nullDevice(), png, key: key) == .there)
        #expect(pictures.jobs == 0)
    }

    @Test(arguments: [[], [0xFF, 0xD8, 1, 2, 3, 0, 0]] as [[UInt8]])
    func `a thumbnail that a power cut left unfinished is made anew`(left: [UInt8]) async throws {
        let examiner = try realExaminer()
        try FileManager.default.createDirectory(atPath: thumbnails, withIntermediateDirectories: true)
        try Data(left).write(to: URL(fileURLWithPath: "\(thumbnails)/\(key).jpg"))
        #expect(await examiner.makeThumbnail(of: try await picture(), png, key: key) == .there)
        #expect(try await thumbnailSize() == [150, 150])
    }

    @Test(arguments: [[0xFF, 0xD8, 1, 2, 3, 4], [1, 2, 3, 4, 0xFF, 0xD9], [0xFF, 0xD8], []] as [[UInt8]])
    func `what is no whole JPEG never becomes a thumbnail, whatever the worker says`(drawn: [UInt8]) async throws {
        let examiner = examiner(MadeUpPictures(drawn: drawn) { _ in .success(PictureFacts(width: 1, height: 1)) })
        let outcome = await examiner.makeThumbnail(of: try nullDevice(), png, key: key)
        #expect(outcome == .none("the file that was made is incomplete"))
        #expect(try files() == [])
    }

    @Test func `a file system without nameless files has thumbnails as well`() async throws {
        let pictures = MadeUpPictures { _ in .success(PictureFacts(width: 1, height: 1)) }
        let folder = ContentFolder(thumbnails: thumbnails, hasNamelessFiles: false)
        let examiner = MediaExaminer(
            pictures: pictures, videos: VideoPrograms.found, thumbnails: folder, logger: logger)
        #expect(await examiner.makeThumbnail(of: try nullDevice(), png, key: key) == .there)
        #expect(try files() == ["\(key).jpg"])
        #expect(await examiner.makeThumbnail(of: try nullDevice(), png, key: key) == .there)
        #expect(pictures.jobs == 1)
    }

    @Test func `there, a thumbnail that came to nothing leaves nothing behind`() async throws {
        let folder = ContentFolder(thumbnails: thumbnails, hasNamelessFiles: false)
        let examiner = MediaExaminer(
            pictures: MadeUpPictures { _ in .failure(.failed("no space")) }, videos: VideoPrograms.found,
            thumbnails: folder, logger: logger)
        #expect(await examiner.makeThumbnail(of: try nullDevice(), png, key: key) == .notNow("no space"))
        #expect(try files() == [])
    }

    @Test func `a removed thumbnail is gone, and removing it again does no harm`() async throws {
        let examiner = try realExaminer()
        _ = await examiner.makeThumbnail(of: try await picture(), png, key: key)
        await examiner.removeThumbnail(of: key)
        await examiner.removeThumbnail(of: key)
        #expect(try files() == [])
    }

    @Test(arguments: [
        (PictureFailure.refused(PictureRefusal(.damaged, "torn")), true), (.killedWorker("signal 11"), true),
        (.unavailable("no libvips"), false), (.failed("no space"), false), (.cancelled, false),
    ])
    func `a failure that is not the picture's fault may go away`(failure: PictureFailure, isFinal: Bool) async throws {
        let examiner = examiner(MadeUpPictures { _ in .failure(failure) })
        let answer = await examiner.facts(of: try nullDevice(), png)
        #expect(answer.facts == MediaFacts() && answer.isFinal == isFinal)
        let thumbnail = await examiner.makeThumbnail(of: try nullDevice(), png, key: key)
        #expect(thumbnail == (isFinal ? .none(failure.message) : .notNow(failure.message)))
        #expect(try files() == [])
    }

    @Test(arguments: ["image/bmp", "image/jxl", "image/x-canon-cr2", "application/octet-stream"])
    func `types without a reader are not tried`(mime: String) async throws {
        let pictures = MadeUpPictures { _ in .success(PictureFacts(width: 1, height: 1)) }
        let examiner = examiner(pictures)
        let answer = await examiner.facts(of: try nullDevice(), MediaType(kind: .image, mime: mime))
        #expect(answer.facts == MediaFacts() && answer.isFinal)
        #expect(pictures.jobs == 0)
    }

    @Test func `without thumbnails none are made`() async throws {
        let pictures = MadeUpPictures { _ in .success(PictureFacts(width: 1, height: 1)) }
        let outcome = await examiner(pictures, thumbnails: false).makeThumbnail(of: try nullDevice(), png, key: key)
        #expect(outcome == .none("thumbnails are off"))
        #expect(pictures.jobs == 0)
    }

    @Test func `tools that are missing are named`() {
        #expect(VideoTools(prober: nil, converter: nil).missing?.contains("ffprobe") == true)
        #expect(VideoTools(prober: "/usr/bin/ffprobe", converter: nil).missing?.contains("ffmpeg is not") == true)
        #expect(VideoTools(prober: "/usr/bin/ffprobe", converter: "/usr/bin/ffmpeg").missing == nil)
    }
}

/// A fake picture worker with scripted answers. Draws an empty JPEG, or the bytes `drawn`.
final class MadeUpPictures: PictureWorking {
    private let drawn: [UInt8]
    private let answer: @Sendable (PictureJob.Operation) async -> Result<PictureFacts, PictureFailure>
    private let count = Mutex(0)

    init(
        drawn: [UInt8] = [0xFF, 0xD8, 0, 0xFF, 0xD9],
        _ answer: @escaping @Sendable (PictureJob.Operation) async -> Result<PictureFacts, PictureFailure>
    ) {
        self.drawn = drawn
        self.answer = answer
    }

    var jobs: Int { count.withLock { $0 } }

    func perform(
        _ operation: PictureJob.Operation, on picture: SharedDescriptor, into output: SharedDescriptor?,
        maximumPixels: Int
    ) async throws(PictureFailure) -> PictureFacts {
        count.withLock { $0 += 1 }
        let facts = try await answer(operation).get()
        if let output { try? writeAll(drawn, to: output.rawValue) }
        return facts
    }
}
