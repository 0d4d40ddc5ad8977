import Foundation
import MediaTestSupport
import MediaTools
import Products
import TestSupport
import Testing
import UploadCore

/// The remover on files with positions in every place that cameras, phones and programs use.
@Suite(.enabled(if: LocationFiles.canBeMade, "needs exiftool and ffmpeg"), .serialized) struct LocationRemoverTests {
    @Test func removesPositionsAndNothingElse() async throws {
        // All cases share a directory and a remover, because starting exiftool and making the base files takes most of
        // the time.
        let files = try LocationFiles()
        let stage = try RemoverStage()
        for file in LocationCase.all {
            do {
                try await removesPosition(of: file, files, stage)
            } catch {
                Issue.record("\(file): \(error)")
            }
        }
    }

    private func removesPosition(of file: LocationCase, _ files: LocationFiles, _ stage: RemoverStage) async throws {
        try await file.make(files, file.name)
        let run = try await StepRun(stage.remover, on: files.path(file.name))
        let product = try #require(run.product, "\(file) was left unchanged")
        let kind = file.name.split(separator: ".").last ?? ""
        _ = try files.media.write(product, "product.\(kind)")

        #expect(LocationFiles.position(in: product) == nil, "\(file)")
        let path = files.path("product.\(kind)")
        #expect(try await !files.secondReaderFindsPosition(at: path, named: file.name), "\(file)")
        #expect(try await files.essence(of: file.name) == files.essence(of: "product.\(kind)"), "\(file)")
        // A second time, nothing is left to do.
        #expect(try await StepRun(stage.remover, on: path).outcome == .unchanged, "\(file)")
    }

    @Test(arguments: ["exif.jpg", "loci.mp4"])
    func secondReaderSeesPositions(_ name: String) async throws {
        let files = try LocationFiles()
        let file = try #require(LocationCase.all.first { $0.name == name })
        try await file.make(files, name)
        #expect(try await files.secondReaderFindsPosition(at: files.path(name), named: name))
    }

    @Test(arguments: [
        "plain.jpg", "plain.png", "plain.webp", "plain.tif", "plain.gif", "plain.heic", "plain.avif", "plain.jxl",
        "plain.dng", "plain.cr2", "plain.cr3", "plain.nef", "plain.arw", "plain.orf", "plain.raf", "plain.rw2",
        "plain.bmp", "plain.mp4", "plain.mov", "plain.m4v", "plain.3gp", "plain.mkv", "plain.webm",
    ])
    func leavesFilesWithoutPositionsUnchanged(_ name: String) async throws {
        let files = try LocationFiles()
        if name.hasSuffix("bmp") {
            try await files.media.make("-f lavfi -i testsrc=size=96x64 -frames:v 1 \(name)")
        } else {
            try await files.base(name)
        }
        let stage = try RemoverStage()
        #expect(try await StepRun(stage.remover, on: files.path(name)).outcome == .unchanged)
    }

    /// Nothing here can search these.
    @Test(arguments: ["plain.avi", "plain.ts", "plain.flv", "plain.mpg"])
    func picturesAndSoundOfOtherContainersAreCopied(_ name: String) async throws {
        let files = try LocationFiles()
        if name.hasSuffix("mpg") {
            try await files.media.make("-f lavfi -i testsrc=size=96x64:rate=25 -t 1 -c:v mpeg1video \(name)")
        } else {
            try await files.base(name)
        }
        // Unknown data, as makers of cameras append it.
        try (files.bytes(name) + Data("JUNK\u{10}\0\0\0at 48.1375,11.57".utf8)).write(
            to: URL(filePath: files.path(name)))
        let run = try await StepRun(RemoverStage().remover, on: files.path(name))
        #expect(run.outcome == .made(MediaType(kind: .video, mime: "video/quicktime")))
        let product = try #require(run.product)
        #expect(LocationFiles.position(in: product) == nil)
        let made = try files.media.write(product, "product.mov")
        let before = try await files.media.probe(files.path(name), "stream=codec_name").filter { !$0.isEmpty }
        let after = try await files.media.probe(made, "stream=codec_name").filter { !$0.isEmpty }
        #expect(Set(before) == Set(after))
    }

    /// AVI tells the times of frames only by their order.
    @Test(arguments: ["mpeg4 -bf 2 -vtag XVID", "mpeg4 -bf 0", "libx264 -bf 0", "mjpeg"])
    func framesOfAVIKeepTheirTimes(_ codec: String) async throws {
        let files = try LocationFiles()
        try await files.media.make("-f lavfi -i testsrc=size=96x64:rate=25 -t 1 -c:v \(codec) -pix_fmt yuvj420p a.avi")
        let stage = try RemoverStage()
        let product = try #require(try await StepRun(stage.remover, on: files.path("a.avi")).product)
        let made = try files.media.write(product, "product.mov")
        func times(_ path: String) async throws -> [String] {
            try await files.media.probe(path, "frame=best_effort_timestamp_time").filter { $0.contains("timestamp") }
        }
        let (before, after) = (try await times(files.path("a.avi")), try await times(made))
        #expect(before.count == 25 && after.count == 25)
        // AVI tells no time of the last one.
        #expect(zip(before, after).allSatisfy { $0 == $1 || $0.hasSuffix("N/A") }, "\(after)")
        #expect(after == after.sorted())
        #expect(try await files.frames(of: "a.avi") == files.frames(of: "product.mov"))
    }

    @Test func framesOfAVIWithoutTimesAreRefused() async throws {
        let files = try LocationFiles()
        try await files.media.make(
            "-f lavfi -i testsrc=size=96x64:rate=25 -t 1 -c:v libx264 -pix_fmt yuv420p -bf 3 a.avi")
        let stage = try RemoverStage()
        let reason = try await stage.refusal(of: files.path("a.avi"))
        #expect(reason?.contains("B-frames") == true, "\(reason ?? "")")
    }

    /// exiftool stores these in UTF-16, with entities, and compressed.
    @Test(arguments: [
        ("picture.jpg", ["-EXIF:UserComment=%"]), ("picture.jpg", ["-XPComment=%"]),
        ("picture.jpg", ["-XMP-dc:Description=%"]), ("picture.jpg", ["-Comment=%"]),
        ("picture.png", ["-z", "-PNG:Description=%"]), ("picture.webp", ["-EXIF:UserComment=%"]),
    ])
    func coordinatesInValuesAreRemovedInEveryEncoding(_ name: String, _ tags: [String]) async throws {
        let files = try LocationFiles()
        let stage = try RemoverStage()
        for text in [
            "{\"place\":\"Zürich\",\"lat\":48.1375,\"lng\":11.5755}", "Zürich lat=48.1375;lon=11.5755",
            "{\"type\":\"Point\",\"coordinates\":[11.5755,48.1375],\"name\":\"Zürich\"}",
        ] {
            try await files.base(name)
            try await files.tag(name, tags.map { $0.replacingOccurrences(of: "%", with: text) })
            let product = try #require(try await StepRun(stage.remover, on: files.path(name)).product)
            let path = try files.media.write(product, "product-\(name)")
            let exiftool = try #require(LocationFiles.exiftool)
            let read = try await files.run(exiftool, ["-a", "-G", path])
            #expect(!read.contains("48.1375") && !read.contains("11.5755"), "\(text)")
            #expect(LocationFiles.position(in: product) == nil)
        }
    }

    @Test func keepsOtherMetadata() async throws {
        let files = try LocationFiles()
        try await files.base("photo.jpg")
        try await files.tag(
            "photo.jpg",
            [
                "-Orientation#=6", "-Copyright=someone", "-IPTC:City=Munich", "-XMP:Rating=5", "-GPSLatitude=48.1375",
                "-XMP-exif:GPSLongitude=11.5755", "-SubSecTimeOriginal=123",
            ])
        let stage = try RemoverStage()
        let run = try await StepRun(stage.remover, on: files.path("photo.jpg"))
        _ = try files.media.write(try #require(run.product), "product.jpg")
        let tags = ["-s3", "-n", "-Orientation", "-Copyright", "-City", "-Rating", "-DateTimeOriginal", "-Artist"]
        let exiftool = try #require(LocationFiles.exiftool)
        let read = try await files.run(exiftool, tags + [files.path("product.jpg")])
        #expect(read.split(separator: "\n") == ["6", "someone", "Munich", "5", "2026:01:02 03:04:05", "somebody"])
    }

    @Test func keepsTagsOfVideos() async throws {
        let files = try LocationFiles()
        let stage = try RemoverStage()
        for name in ["loci.mp4", "tags.mkv", "keys.mp4"] {
            let file = try #require(LocationCase.videos.first { $0.name == name })
            try await file.make(files, name)
            let run = try await StepRun(stage.remover, on: files.path(name))
            #expect(run.product?.count == (try files.bytes(name)).count)
            _ = try files.media.write(try #require(run.product), "product-\(name)")
            #expect(
                try await files.media.probe(files.path("product-\(name)"), "format_tags=title") == ["TAG:title=kept"])
        }
    }

    /// A program's own namespace goes as a whole; exiftool writes no single tags of it.
    @Test(arguments: ["a.jpg", "a.png", "a.webp", "a.tif", "a.gif"])
    func positionsInForeignXMPAreRemoved(_ name: String) async throws {
        let files = try LocationFiles()
        let stage = try RemoverStage()
        for (properties, isChanged) in [
            (" foo:LRFTargetLat='48.1375' foo:LRFTargetLon='11.5755'>", true),
            ("><foo:homeLat>48.1375</foo:homeLat>", true),
            (
                "><foo:geo rdf:parseType='Resource'><foo:lat>48.1375</foo:lat><foo:long>11.5755</foo:long></foo:geo>",
                true
            ),
            (" foo:place='+48.1375+011.5755/'>", true), (" foo:place='Munich' foo:Latency='48.1'>", false),
        ] {
            let xmp =
                "<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>"
                + "<rdf:Description rdf:about='' xmlns:dc='http://purl.org/dc/elements/1.1/' dc:format='kept' "
                + "xmlns:foo='http://foo.example/'\(properties)</rdf:Description></rdf:RDF></x:xmpmeta>"
            _ = try files.media.write(xmp.utf8, "foreign.xmp")
            try await files.base(name)
            try await files.tag(name, ["-XMP<=\(files.path("foreign.xmp"))"])
            let product = try await StepRun(stage.remover, on: files.path(name)).product
            #expect((product != nil) == isChanged, "\(properties)")
            guard let product else { continue }
            #expect(LocationFiles.position(in: product) == nil && product.range(of: Data("kept".utf8)) != nil)
            _ = try files.media.write(product, "product-\(name)")
            #expect(try await files.essence(of: name) == files.essence(of: "product-\(name)"))
        }
    }

    /// exiftool reads neither a second picture behind the first, nor writes XMP of a video.
    @Test func positionsInForeignXMPOfFurtherPicturesAreRemoved() async throws {
        let files = try LocationFiles()
        try await files.base("a.jpg")
        let xmp =
            "http://ns.adobe.com/xap/1.0/\0<a:b foo:LRFTargetLat=\"48.1375\"><foo:homeLon>11.5755</foo:homeLon></a:b>"
        let segment = [0xFF, 0xE1, 0, UInt8(xmp.utf8.count + 2)] + Array(xmp.utf8)
        let picture = try files.bytes("a.jpg")
        _ = try files.media.write(picture + picture.prefix(2) + segment + picture.dropFirst(2), "two.jpg")
        let stage = try RemoverStage()
        let product = try #require(try await StepRun(stage.remover, on: files.path("two.jpg")).product)
        #expect(LocationFiles.position(in: product) == nil && product.count == 2 * picture.count + segment.count)
    }
}
