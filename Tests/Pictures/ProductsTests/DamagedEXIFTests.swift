import Foundation
import LinuxSystem
import MediaTestSupport
import TestSupport
import Testing
import UploadCore

@testable import Products

/// A small block of EXIF, and files with it.
enum EXIFSample {
    /// A directory with two texts and the place of a directory of positions, whose entries have an unusual order.
    ///
    /// - Parameters:
    ///   - type: Of the first entry.
    ///   - count: What the directory states.
    static func block(type: UInt8 = 2, count: Int = 3, hasPosition: Bool = true) -> [UInt8] {
        func entry(_ tag: Int, _ type: UInt8, _ count: UInt8, _ value: [UInt8]) -> [UInt8] {
            [UInt8(tag & 0xFF), UInt8(tag >> 8), type, 0, count, 0, 0, 0] + value
        }
        let text = Array("abc\0".utf8)
        let pointer = entry(hasPosition ? 0x8825 : 0x0131, hasPosition ? 4 : 2, hasPosition ? 1 : 4, [50, 0, 0, 0])
        let directory =
            [UInt8(count & 0xFF), UInt8(count >> 8)] + entry(0x10E, type, 4, text) + entry(0x110, 2, 4, text) + pointer
            + [0, 0, 0, 0]
        let angle: [UInt8] = [48, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0x28, 5, 0, 0, 100, 0, 0, 0]
        let positions =
            [2, 0] + entry(4, 5, 3, [80, 0, 0, 0]) + entry(2, 5, 3, [104, 0, 0, 0]) + [0, 0, 0, 0] + angle + angle
        return [0x49, 0x49, 42, 0, 8, 0, 0, 0] + directory + (hasPosition ? positions : [])
    }

    private static func big(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * (count - 1 - $0))) }
    }

    /// Puts a block where the format has it.
    static func insert(_ block: [UInt8], into file: inout Data, _ kind: String) {
        switch kind {
        case "jpg":
            let content = Array("Exif\0\0".utf8) + block
            file.insert(contentsOf: [0xFF, 0xE1] + big(content.count + 2, 2) + content, at: 2)
        case "png": insert(chunk: "eXIf", block, into: &file)
        case "webp":
            let even = block + [UInt8](repeating: 0, count: block.count % 2)
            file += Array("EXIF".utf8) + big(even.count, 4).reversed() + even
            file.replaceSubrange(4..<8, with: big(file.count - 8, 4).reversed())
        default: file += big(block.count + 12, 4) + Array("Exif".utf8) + [0, 0, 0, 0] + block
        }
    }

    /// Inserts a chunk before the data of a PNG picture. exiftool does not look at the checksum.
    static func insert(chunk type: String, _ content: [UInt8], into file: inout Data) {
        guard let place = file.range(of: Data("IDAT".utf8)) else { return }
        file.insert(
            contentsOf: big(content.count, 4) + Array(type.utf8) + content + [0, 0, 0, 0], at: place.lowerBound - 4)
    }

    /// A text with a block in hexadecimal digits, as ImageMagick writes it.
    static func profile(_ keyword: String, _ block: [UInt8]) -> [UInt8] {
        let digits = block.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return Array("\(keyword)\0\nexif\n\(String(repeating: " ", count: 4))\(block.count)\n\(digits)\n".utf8)
    }
}

/// EXIF that exiftool gives up on, and that other programs read.
@Suite(.enabled(if: LocationFiles.canBeMade, "needs exiftool and ffmpeg"), .serialized) struct DamagedEXIFTests {
    private func picture(_ kind: String, _ block: [UInt8], _ files: LocationFiles) async throws -> String {
        if kind == "jxl" {
            try await files.base("a.jxl")
        } else {
            try await files.media.make("-f lavfi -i testsrc=size=96x64 -frames:v 1 a.\(kind)")
        }
        var data = try files.bytes("a.\(kind)")
        EXIFSample.insert(block, into: &data, kind)
        return try files.media.write(data, "a.\(kind)")
    }

    @Test(arguments: ["jpg", "png", "webp", "jxl"], [.positions, .metadata(keepsDates: false)] as [Recipe.Removal])
    func damagedDirectoriesAreRefused(_ kind: String, _ removal: Recipe.Removal) async throws {
        let files = try LocationFiles()
        let stage = try RemoverStage(removal)
        // A byte behind the entries; WebP has an even number.
        let cut = kind == "webp" ? [] : [Array(EXIFSample.block(hasPosition: false).dropLast(3))]
        for block in [0, 14, 99].map({ EXIFSample.block(type: $0) }) + [EXIFSample.block(count: 3000)] + cut {
            let path = try await picture(kind, block, files)
            do {
                let product = try #require(try await StepRun(stage.remover, on: path).product, "\(block[10...])")
                #expect(product.range(of: Data(block.suffix(48))) == nil)
            } catch ProductFailure.refused {
                // The damage is found.
            }
        }
    }

    @Test(arguments: ["jpg", "png", "webp", "jxl"]) func soundDirectoriesPass(_ kind: String) async throws {
        let files = try LocationFiles()
        let stage = try RemoverStage()
        let plain = try await picture(kind, EXIFSample.block(hasPosition: false), files)
        #expect(try await StepRun(stage.remover, on: plain).outcome == .unchanged)
        let path = try await picture(kind, EXIFSample.block(), files)
        let product = try #require(try await StepRun(stage.remover, on: path).product)
        #expect(product.range(of: Data(EXIFSample.block().suffix(48))) == nil)
    }

    @Test func damagedDirectoriesInTextsOfPNGAreRefused() async throws {
        let files = try LocationFiles()
        let stage = try RemoverStage()
        for (type, isRefused) in [(0, true), (2, false)] as [(UInt8, Bool)] {
            try await files.media.make("-f lavfi -i testsrc=size=96x64 -frames:v 1 a.png")
            var data = try files.bytes("a.png")
            let block = EXIFSample.block(type: type, hasPosition: type == 0)
            EXIFSample.insert(chunk: "tEXt", EXIFSample.profile("Raw profile type exif", block), into: &data)
            let path = try files.media.write(data, "a.png")
            #expect(try await (stage.refusal(of: path) != nil) == isRefused)
        }
    }

    /// exiftool reads these keywords in one case only, other programs in any.
    @Test func profilesUnderOtherKeywordsAreCleared() async throws {
        let files = try LocationFiles()
        try await files.media.make("-f lavfi -i testsrc=size=96x64 -frames:v 1 a.png")
        var data = try files.bytes("a.png")
        let text = EXIFSample.profile("Raw profile type EXIF", EXIFSample.block())
        EXIFSample.insert(chunk: "tEXt", text, into: &data)
        let path = try files.media.write(data, "a.png")
        let stage = try RemoverStage()
        let product = try #require(try await StepRun(stage.remover, on: path).product)
        #expect(product.range(of: Data(text.suffix(60))) == nil)
    }

    @Test(arguments: ["tEXt", "eXIf"]) func thumbnailsInChunksOfPNGAreRemoved(_ chunk: String) async throws {
        let files = try LocationFiles()
        try await files.base("small.jpg")
        try await files.tag("small.jpg", ["-GPSLatitude=48.1375", "-GPSLongitude=11.5755"])
        try await files.base("full.jpg")
        try await files.tag("full.jpg", ["-ThumbnailImage<=\(files.path("small.jpg"))"])
        let full = try [UInt8](files.bytes("full.jpg"))
        let start = try #require(full.firstRange(of: Array("Exif\0\0".utf8)))
        let size = Int(full[start.lowerBound - 2]) << 8 | Int(full[start.lowerBound - 1])
        let block = Array(full[start.upperBound..<(start.lowerBound - 2 + size)])
        try await files.media.make("-f lavfi -i testsrc=size=96x64 -frames:v 1 a.png")
        var data = try files.bytes("a.png")
        let content = chunk == "eXIf" ? block : EXIFSample.profile("Raw profile type exif", block)
        EXIFSample.insert(chunk: chunk, content, into: &data)
        let path = try files.media.write(data, "a.png")
        let stage = try RemoverStage()
        let product = try #require(try await StepRun(stage.remover, on: path).product)
        _ = try files.media.write(product, "product.png")
        let exiftool = try #require(LocationFiles.exiftool)
        let tags = try await files.run(exiftool, ["-a", "-u", "-s", files.path("product.png")])
        #expect(!tags.contains("ThumbnailImage") && tags.contains("somebody"), "\(tags)")
    }

    @Test func positionsOfTheInnerDirectoryOfAThumbnailAreRemoved() async throws {
        let files = try LocationFiles()
        try await files.media.make("-f lavfi -i testsrc=size=96x64 -frames:v 1 a.jpg")
        // The first directory leads to that of EXIF, and only this one to the positions.
        var block = EXIFSample.block()
        let inner = UInt8(block.count)
        block.replaceSubrange(34..<36, with: [0x69, 0x87])
        block[42] = inner
        block += [1, 0, 0x25, 0x88, 4, 0, 1, 0, 0, 0, 50, 0, 0, 0, 0, 0, 0, 0]
        let picture = try files.bytes("a.jpg")
        var second = picture
        EXIFSample.insert(block, into: &second, "jpg")
        let path = try files.media.write(picture + second, "a.jpg")
        let stage = try RemoverStage()
        let product = try #require(try await StepRun(stage.remover, on: path).product)
        #expect(product.range(of: Data(block[80..<104])) == nil && product.count == picture.count + second.count)
    }
}
