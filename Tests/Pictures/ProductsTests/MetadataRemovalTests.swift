import Foundation
import MediaTestSupport
import Products
import TestSupport
import Testing
import UploadCore

/// What stays of pictures and videos without metadata.
@Suite(.enabled(if: LocationFiles.canBeMade, "needs exiftool and ffmpeg"), .serialized) struct MetadataRemovalTests {
    private func stage(keepsDates: Bool = false) throws -> RemoverStage {
        try RemoverStage(.metadata(keepsDates: keepsDates))
    }

    /// Makes a picture with much metadata, an orientation and a date.
    private func picture(_ name: String, _ files: LocationFiles) async throws {
        try await files.base(name)
        let tags = [
            "-EXIF:Orientation#=6", "-EXIF:InteropIndex=R98 - DCF basic file (sRGB)",
            "-EXIF:DateTimeOriginal=2026:01:02 03:04:05", "-EXIF:Artist=somebody",
            "-EXIF:UserComment=somebody", "-EXIF:GPSLatitude=48.1375", "-XMP-dc:Title=somebody", "-Comment=somebody",
            "-IPTC:City=somebody", "-XMP-xmp:CreateDate=2026:01:02 03:04:05",
        ]
        try await files.tag(name, ["-m"] + tags)
        // What exiftool does not know.
        if name.hasSuffix("jpg") {
            try (files.bytes(name) + Data("somebody".utf8)).write(to: URL(filePath: files.path(name)))
        }
    }

    /// The digest of the decoded picture. Its header names the shape of pixels, which may go with JFIF.
    private func pixels(_ name: String, _ files: LocationFiles) async throws -> [Substring] {
        try await files.essence(of: name).split(separator: "\n").filter { !$0.hasPrefix("#") }
    }

    /// The codecs of a video.
    private func codecs(_ path: String, _ files: LocationFiles) async throws -> Set<String> {
        Set(try await files.media.probe(path, "stream=codec_name").filter { !$0.isEmpty })
    }

    private func tags(_ name: String, _ files: LocationFiles) async throws -> String {
        let exiftool = try #require(LocationFiles.exiftool)
        return try await files.run(exiftool, ["-a", "-u", "-n", "-s", "-ee3", files.path(name)])
    }

    @Test(arguments: ["a.jpg", "a.png", "a.webp", "a.gif", "a.tif", "a.heic", "a.avif", "a.jxl"])
    func picturesKeepOrientationAndWishedDatesAlone(_ name: String) async throws {
        let files = try LocationFiles()
        try await picture(name, files)
        for keepsDates in [false, true] {
            let stage = try stage(keepsDates: keepsDates)
            let product = try #require(try await StepRun(stage.remover, on: files.path(name)).product)
            let path = try files.media.write(product, "product-\(name)")
            #expect(product.range(of: Data("somebody".utf8)) == nil)
            #expect(try await pixels(name, files) == pixels("product-\(name)", files))
            let tags = try await tags("product-\(name)", files)
            #expect(!tags.contains("GPS") && !tags.contains("Title") && !tags.contains("City"))
            if !name.hasSuffix("gif") {
                #expect(tags.contains(/Orientation +: 6/), "\(tags)")
                #expect(tags.contains("2026:01:02 03:04:05") == keepsDates, "\(tags)")
            }
            #expect(try await StepRun(stage.remover, on: path).outcome == .unchanged)
        }
    }

    @Test(arguments: ["a.mp4", "a.mov", "a.3gp", "a.m4v", "a.mkv", "a.webm", "a.avi", "a.ts", "a.flv"])
    func videosKeepPicturesSoundAndWishedDatesAlone(_ name: String) async throws {
        let files = try LocationFiles()
        try await files.base(name)
        let kind = name.split(separator: ".").last ?? ""
        let tags = ["title", "comment", "location"].map { "-metadata \($0)=somebody" }.joined(separator: " ")
        try await files.media.make(
            "-i \(files.path(name)) -c copy \(tags) -metadata creation_time=2026-01-02T03:04:05Z full.\(kind)")
        for keepsDates in [false, true] {
            let run = try await StepRun(stage(keepsDates: keepsDates).remover, on: files.path("full.\(kind)"))
            let product = try #require(run.product)
            let path = try files.media.write(product, "product.\(kind)")
            #expect(product.range(of: Data("somebody".utf8)) == nil)
            #expect(try await codecs(path, files) == codecs(files.path(name), files))
            let dates = try await files.media.probe(path, "format_tags=creation_time").filter { $0.contains("2026") }
            // Others have no place for a date.
            if ["mp4", "mov", "3gp", "m4v", "mkv", "webm"].contains(kind) { #expect(dates.isEmpty != keepsDates) }
            if !keepsDates { #expect(dates.isEmpty) }
        }
    }

    @Test func turnedVideosStayTurned() async throws {
        let files = try LocationFiles()
        try await files.base("a.mp4")
        try await files.media.make("-i \(files.path("a.mp4")) -c copy -metadata:s:v rotate=90 turned.mp4")
        let product = try #require(try await StepRun(stage().remover, on: files.path("turned.mp4")).product)
        let path = try files.media.write(product, "product.mp4")
        let rotation = try await files.media.probe(path, "stream_side_data=rotation")
        #expect(rotation.contains { $0.contains("90") })
        #expect(
            try await rotation
                == files.media.probe(files.path("turned.mp4"), "stream_side_data=rotation"))
    }

    @Test func animatedAVIFLosesDatesAndNames() async throws {
        let files = try LocationFiles()
        try await files.media.make(
            "-f lavfi -i testsrc=size=64x64:rate=5 -frames:v 3 -c:v libaom-av1 -cpu-used 8 -f avif "
                + "-metadata creation_time=2026-01-02T03:04:05Z -metadata:s:v handler_name=somebody moving.avif")
        try #require(try files.bytes("moving.avif").range(of: Data("somebody".utf8)) != nil)
        let (locations, stage) = (try RemoverStage(), try stage())
        #expect(try await StepRun(locations.remover, on: files.path("moving.avif")).outcome == .unchanged)
        let product = try #require(try await StepRun(stage.remover, on: files.path("moving.avif")).product)
        _ = try files.media.write(product, "product.avif")
        #expect(product.range(of: Data("somebody".utf8)) == nil)
        #expect(try await !tags("product.avif", files).contains("2026:01:02"))
        #expect(try await pixels("moving.avif", files) == pixels("product.avif", files))
    }

    /// Displays of Apple have their serial number in such a tag.
    @Test(arguments: ["a.jpg", "a.png", "a.webp", "a.tif"])
    func privateTagsOfColourProfilesAreRemoved(_ name: String) async throws {
        let files = try LocationFiles()
        let stage = try stage()
        try await files.base(name)
        func tag(_ name: String, _ start: UInt8, _ size: UInt8) -> [UInt8] {
            Array(name.utf8) + [0, 0, 0, start, 0, 0, 0, size]
        }
        let white = Array("XYZ \0\0\0\0".utf8) + [0, 0, 0xF6, 0xD6, 0, 1, 0, 0, 0, 0, 0xD3, 0x2D]
        let serial = Array("mmod\0\0\0\0somebody".utf8)
        var header = [UInt8](repeating: 0, count: 128)
        header[3] = 192
        header.replaceSubrange(8..<24, with: [4, 0x40, 0, 0] + Array("mntrRGB XYZ ".utf8))
        header.replaceSubrange(36..<40, with: Array("acsp".utf8))
        let tags = [0, 0, 0, 2] + tag("wtpt", 156, 20) + tag("mmod", 176, 16)
        _ = try files.media.write(header + tags + white + serial, "profile.icc")
        try await files.tag(name, ["-ICC_Profile<=\(files.path("profile.icc"))"])
        let product = try #require(try await StepRun(stage.remover, on: files.path(name)).product)
        let path = try files.media.write(product, "product-\(name)")
        let exiftool = try #require(LocationFiles.exiftool)
        _ = try await files.run(exiftool, ["-b", "-ICC_Profile", "-w!", "icc", path])
        let left = try [UInt8](files.bytes("product-\(name.prefix(1)).icc"))
        let zeros = [UInt8](repeating: 0, count: 12)
        #expect(
            left.count == 192 && left[128...] == [0, 0, 0, 1] + tags[4..<16] + zeros + white + zeros + [0, 0, 0, 0])
        #expect(try await StepRun(stage.remover, on: path).outcome == .unchanged)
    }

    /// exiftool calls the coded picture a preview, and reads nothing in it.
    @Test func TIFFWithJPEGKeepsItsPicture() async throws {
        let files = try LocationFiles()
        try await files.base("a.jpg")
        let jpeg = try [UInt8](files.bytes("a.jpg"))
        func entry(_ tag: UInt16, _ value: Int) -> [UInt8] {
            [UInt8(tag & 0xFF), UInt8(tag >> 8), 4, 0, 1, 0, 0, 0] + (0..<4).map { UInt8(value >> (8 * $0) & 0xFF) }
        }
        let values: [(UInt16, Int)] = [
            (256, 96), (257, 64), (258, 8), (259, 7), (262, 6), (273, 134), (277, 3), (278, 64), (279, jpeg.count),
            (284, 1),
        ]
        let entries = values.flatMap { entry($0, $1) }
        _ = try files.media.write([0x49, 0x49, 42, 0, 8, 0, 0, 0, 10, 0] + entries + [0, 0, 0, 0] + jpeg, "jpeg.tif")
        let stage = try stage()
        let product = try #require(try await StepRun(stage.remover, on: files.path("jpeg.tif")).product)
        #expect(product.range(of: Data(jpeg.suffix(100))) != nil && product.range(of: Data("somebody".utf8)) == nil)
    }

    @Test func allPagesOfTIFFLoseTheirTexts() async throws {
        let files = try LocationFiles()
        try await files.base("a.tif")
        try await files.tag("a.tif", ["-Software=somebody", "-ImageDescription=somebody"])
        let page = try [UInt8](files.bytes("a.tif"))
        func number(_ bytes: [UInt8], at place: Int, _ count: Int) -> Int {
            bytes[place..<(place + count)].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        // The second page has the data of the first.
        let first = number(page, at: 4, 4)
        let end = first + 2 + 12 * number(page, at: first, 2)
        var pages = page + (page.count % 2 == 0 ? [] : [0])
        pages.replaceSubrange(end..<(end + 4), with: (0..<4).map { UInt8(pages.count >> (8 * $0) & 0xFF) })
        pages += page[first..<end] + [0, 0, 0, 0]
        _ = try files.media.write(pages, "pages.tif")
        let stage = try stage()
        let product = try #require(try await StepRun(stage.remover, on: files.path("pages.tif")).product)
        #expect(product.range(of: Data("somebody".utf8)) == nil)
        _ = try files.media.write(product, "product.tif")
        #expect(try await pixels("pages.tif", files) == pixels("product.tif", files))
        #expect(try await tags("product.tif", files).contains(/PageCount +: 2/))
    }

    @Test func rawPicturesAreRefused() async throws {
        let files = try LocationFiles()
        try await files.base("a.nef")
        #expect(try await stage().refusal(of: files.path("a.nef"))?.contains("camera raw") == true)
    }
}
