import Foundation
import LinuxSystem
import MediaTestSupport
import TestSupport
import Testing
import UploadCore

@testable import Products

/// Tags and maker notes that exiftool can't read.
@Suite(.enabled(if: LocationFiles.canBeMade, "needs exiftool and ffmpeg"), .serialized) struct UnknownTagTests {
    private static let secret = Data("near the church".utf8)

    /// Gives a tag that exiftool wrote another number, in both orders of bytes.
    private func renumber(_ old: UInt16, type: UInt8, to new: UInt16, in name: String, _ files: LocationFiles) throws {
        func entry(_ number: UInt16) -> Data { Data([UInt8(number >> 8), UInt8(number & 0xFF), 0, type]) }
        func swapped(_ number: UInt16) -> Data { Data([UInt8(number & 0xFF), UInt8(number >> 8), type, 0]) }
        let before = try files.bytes(name)
        try files.replace(entry(old), by: entry(new), in: name)
        try files.replace(swapped(old), by: swapped(new), in: name)
        try #require(try files.bytes(name) != before)
    }

    private func product(of name: String, _ files: LocationFiles) async throws -> Data {
        let stage = try RemoverStage()
        let product = try #require(try await StepRun(stage.remover, on: files.path(name)).product)
        _ = try files.media.write(product, "product-\(name)")
        #expect(try await files.essence(of: name) == files.essence(of: "product-\(name)"))
        return product
    }

    @Test(arguments: ["a.jpg", "a.webp", "a.tif", "a.dng", "a.heic"])
    func tagsThatNobodyKnowsAreRemoved(_ name: String) async throws {
        let files = try LocationFiles()
        try await files.base(name)
        try await files.tag(name, ["-IFD0:UniqueCameraModel=near the church", "-EXIF:Artist=somebody"])
        try renumber(0xC614, type: 2, to: 0xD000, in: name, files)
        let product = try await product(of: name, files)
        #expect(product.range(of: Self.secret) == nil && product.range(of: Data("somebody".utf8)) != nil)
    }

    /// Notes of a maker, and another tag with data of any kind.
    @Test(arguments: ["a.jpg", "a.tif"], [0x927C, 0xA40B] as [UInt16])
    func dataThatNobodyKnowsIsRemoved(_ name: String, _ number: UInt16) async throws {
        let files = try LocationFiles()
        for comment in ["near the church", "near the church\u{E9}"] {
            try await files.base(name)
            try await files.tag(name, ["-EXIF:UserComment=\(comment)", "-EXIF:Artist=somebody"])
            // A text, and bytes.
            try files.replace("ASCII\0\0\0", by: "ASCII   ", in: name)
            try renumber(0x9286, type: 7, to: number, in: name, files)
            let product = try await product(of: name, files)
            #expect(product.range(of: Self.secret) == nil && product.range(of: Data("somebody".utf8)) != nil)
            #expect(product.range(of: Data(Array("near".utf16).flatMap { [UInt8($0), 0] })) == nil)
        }
    }

    @Test func privateDataOfDNGIsRemoved() async throws {
        let files = try LocationFiles()
        try await files.base("a.dng")
        try await files.tag("a.dng", ["-IFD0:DNGPrivateData=GoPro near the church", "-IFD0:OwnerName=near the church"])
        #expect(try await product(of: "a.dng", files).range(of: Self.secret) == nil)
    }

    /// A picture of one strip, with a tag and a trailer.
    @Test(arguments: [(true, false), (false, false), (true, true)])
    func tagsOfTIFFLeaveAllElse(_ clearsRest: Bool, _ isBare: Bool) throws {
        let directory = try TemporaryDirectory()
        func entry(_ tag: [UInt8], _ type: UInt8, _ count: UInt8, _ value: UInt8) -> [UInt8] {
            tag + [type, 0, count, 0, 0, 0, value, 0, 0, 0]
        }
        let strip = [UInt8](repeating: 7, count: 40)
        let staying = entry([17, 1], 4, 1, 8) + entry([23, 1], 4, 1, 40)
        let entries = [3, 0] + staying + entry([0xBC, 0x9A], 2, 15, 90) + [0, 0, 0, 0]
        let whole = [0x49, 0x49, 42, 0, 48, 0, 0, 0] + strip + entries + Self.secret + Array("rest".utf8)
        let path = directory.path("a.tif")
        try Data(whole).write(to: URL(filePath: path))
        let file = try SharedDescriptor(opening: path, flags: O_RDWR)
        let part = FilePart(file: file, range: 0..<UInt64(whole.count))
        func patches() throws -> Patches {
            let tags: Set<UInt64> = isBare ? [] : [0x9ABC]
            return try TIFFParts(in: part, removing: tags, clearsRest: clearsRest, isBare: isBare, Cancellation())
                .patches
        }
        try patches().apply(to: file, Cancellation())
        let zeros = [UInt8](repeating: 0, count: 16 + Self.secret.count)
        let rest = clearsRest ? [0, 0, 0, 0] : Array("rest".utf8)
        #expect(try part.bytes(at: 0, count: whole.count) == Array(whole.prefix(48)) + [2, 0] + staying + zeros + rest)
        #expect(try patches().isEmpty)
    }

    /// Data of Photoshop, of which exiftool reports nothing.
    @Test(arguments: [0x935C, 0xC68F] as [UInt16], [nil, false, true] as [Bool?])
    func dataThatIsNotReportedIsRemovedFromTIFF(_ number: UInt16, _ keepsDates: Bool?) async throws {
        let files = try LocationFiles()
        try await files.base("a.tif")
        try await files.tag("a.tif", ["-EXIF:UserComment=near the church", "-EXIF:Orientation#=6"])
        try renumber(0x9286, type: 7, to: number, in: "a.tif", files)
        let stage = try RemoverStage(keepsDates.map { .metadata(keepsDates: $0) } ?? .positions)
        let product = try #require(try await StepRun(stage.remover, on: files.path("a.tif")).product)
        _ = try files.media.write(product, "product.tif")
        #expect(product.range(of: Self.secret) == nil)
        #expect((product.range(of: Data("somebody".utf8)) != nil) == (keepsDates == nil))
        #expect(try await files.essence(of: "a.tif") == files.essence(of: "product.tif"))
        let tags = try await files.run(try #require(LocationFiles.exiftool), ["-n", "-s", files.path("product.tif")])
        #expect(tags.contains(/Orientation +: 6/) && tags.contains("DateTimeOriginal") == (keepsDates != false))
        let path = files.path("product.tif")
        #expect(try await StepRun(stage.remover, on: path).outcome == .unchanged)
    }
}
