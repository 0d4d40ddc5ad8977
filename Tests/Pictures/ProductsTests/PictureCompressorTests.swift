import Foundation
import LinuxSystem
import Logging
import MediaTestSupport
import MediaTools
import TestSupport
import Testing
import UploadCore

@testable import Products

@Suite("Compressing pictures", .timeLimit(.minutes(2)))
struct PictureCompressorTests {
    private let files: MediaFiles
    private let worker: PictureWorker
    private static let noise = "noise=alls=20:all_seed=1"

    init() throws {
        files = try MediaFiles()
        worker = PictureWorker(
            program: try Program.path(of: "outbox-media"), processes: 1,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private func compressor(quality: Int = 85, maximumSide: Int = 0) -> PictureCompressor {
        PictureCompressor(
            worker: worker, quality: quality, maximumSide: maximumSide, exiftool: MediaFiles.program("exiftool"))
    }

    private func picture(_ name: String, _ options: String = "", filter: String = noise) async throws -> String {
        try await files.make("-f lavfi -i testsrc2=size=320x240 -vf \(filter) -frames:v 1 \(options) \(name)")
    }

    @Test(arguments: [
        ("a.jpg", "-q:v 1 -pix_fmt yuvj444p"), ("a.png", ""), ("deep.png", "-pix_fmt rgb48be"),
        ("a.tif", "-pix_fmt rgb24"),
        ("grey.png", "-pix_fmt gray16be"),
    ])
    func `a picture becomes a smaller JPEG of the same size`(name: String, options: String) async throws {
        let path = try await picture(name, options)
        let run = try await StepRun(compressor(), on: path)
        #expect(run.outcome == .made(MediaType(kind: .image, mime: "image/jpeg")))
        let product = try #require(run.product)
        #expect(MediaSignatures.sniff([UInt8](product)) == MediaType(kind: .image, mime: "image/jpeg"))
        #expect(product.count * 10 <= 9 * (try Data(contentsOf: URL(filePath: path)).count))
        let made = try files.write(product, "made.jpg")
        #expect(try await files.probe(made, "stream=width,height") == ["width=320", "height=240"])
    }

    @Test func `a result that lacks a tag of the picture does not count`() {
        func report(_ lines: String...) -> TagReport {
            lines.reduce(into: TagReport()) { $0.add(Array($1.utf8)[...]) }
        }
        let before = report("IFD0\tMake\tAcme", "XMP-dc\tSubject\ta\tb", "File\tFileType\tPNG", "IFD1\tMake\tAcme")
        #expect(before.lost(in: before, keepsThumbnail: true) == nil)
        #expect(before.lost(in: report("IFD0\tMake\tA", "XMP-dc\tSubject\t"), keepsThumbnail: false) == nil)
        #expect(before.lost(in: report("IFD0\tMake\tA", "XMP-dc\tSubject\t"), keepsThumbnail: true)?.group == "IFD1")
        #expect(before.lost(in: report("IFD0\tMake\tAcme"), keepsThumbnail: false)?.name == "Subject")
        #expect(
            report("IFD0\tStripOffsets\t8", "ICC-header\tDeviceModel\t").lost(in: report(), keepsThumbnail: true) == nil
        )
    }

    @Test func `what can't be compared does not count`() async throws {
        let path = try await picture("a.png")
        let compressor = PictureCompressor(worker: worker, quality: 85, maximumSide: 0, exiftool: "/bin/false")
        await #expect(performing: { try await StepRun(compressor, on: path) }, throws: Self.isRefused)
    }

    @Test func `a limit of the side makes the picture smaller`() async throws {
        let run = try await StepRun(compressor(maximumSide: 160), on: try await picture("a.png"))
        let made = try files.write(try #require(run.product), "made.jpg")
        #expect(try await files.probe(made, "stream=width,height") == ["width=160", "height=120"])
    }

    @Test func `a picture that would hardly shrink stays as it is`() async throws {
        let once = try await StepRun(compressor(quality: 70), on: try await picture("a.png"))
        let small = try files.write(try #require(once.product), "small.jpg")
        #expect(try await StepRun(compressor(quality: 70), on: small).outcome == .unchanged)
    }

    @Test(arguments: [
        ("a.png", "-pix_fmt rgba"), ("a.gif", ""), ("a.webp", ""), ("a.bmp", ""), ("a.apng", "-frames:v 2 -f apng"),
    ])
    func `what a JPEG can't hold, and what is small already, stays as it is`(
        name: String, options: String
    ) async throws {
        let path = try await picture(name, options)
        #expect(try await StepRun(compressor(quality: 10), on: path).outcome == .unchanged)
    }

    @Test func `videos and texts stay as they are`() async throws {
        for name in ["a.mp4", "a.txt"] {
            #expect(
                try await StepRun(compressor(), on: try files.write(Array("hello".utf8), name)).outcome == .unchanged)
        }
    }

    @Test(arguments: [("a.jpg", "-q:v 2"), ("a.png", "")])
    func `a damaged picture is refused`(name: String, options: String) async throws {
        let whole = try Data(contentsOf: URL(filePath: try await picture(name, options)))
        let path = try files.write(whole.prefix(whole.count / 2), "cut-\(name)")
        await #expect(performing: { try await StepRun(compressor(), on: path) }, throws: Self.isRefused)
    }

    @Test func `a picture of too many pixels is refused`() async throws {
        var bytes = [UInt8](try Data(contentsOf: URL(filePath: try await picture("a.jpg", "-q:v 2"))))
        let frame = try #require(bytes.firstRange(of: [0xFF, 0xC0]))
        bytes.replaceSubrange(frame.lowerBound + 5..<frame.lowerBound + 9, with: [0x75, 0x30, 0x75, 0x30])
        let path = try files.write(bytes, "bomb.jpg")
        await #expect {
            try await StepRun(compressor(), on: path)
        } throws: { error in
            guard case .refused(let reason) = error as? ProductFailure else { return false }
            return reason.contains("30000x30000")
        }
    }

    @Test func `a full disk is told apart`() async throws {
        let path = try await picture("a.png")
        let input = ProductInput(
            file: try SharedDescriptor(opening: path, flags: O_RDONLY),
            type: MediaType(kind: .image, mime: "image/png"),
            size: 1 << 30)
        let full = try SharedDescriptor(opening: "/dev/full", flags: O_RDWR)
        await #expect(throws: ProductFailure.noSpace) {
            try await compressor().perform(on: input, into: full, scratch: files.directory.path) { _ in }
        }
    }

    @Test func `without the worker's program the picture waits, and the advice names it`() async throws {
        let worker = PictureWorker(
            program: "/nowhere/outbox-media", logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let compressor = PictureCompressor(worker: worker, quality: 85, maximumSide: 0)
        #expect(compressor.missing?.contains("/nowhere/outbox-media") == true)
        #expect(self.compressor().missing == nil)
        let path = try await picture("a.png")
        await #expect {
            try await StepRun(compressor, on: path)
        } throws: { error in
            if case .missing = error as? ProductFailure { true } else { false }
        }
    }

    private static func isRefused(_ error: any Error) -> Bool {
        if case .refused = error as? ProductFailure { true } else { false }
    }
}
