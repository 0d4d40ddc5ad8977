import Foundation
import LinuxSystem
import TestSupport
import Testing

@testable import Products

/// Positions in places of a picture that exiftool does not look into.
@Suite struct HiddenPositionTests {
    private let samples: SampleParts

    init() throws { samples = try SampleParts() }

    private func part(_ bytes: [UInt8]) throws -> FilePart { try samples.part(bytes) }

    @Test(arguments: ["GPSLatitude", "GpsLatitude"], [false, true])
    func namesInUTF16AreObstacles(_ name: String, _ isBig: Bool) throws {
        let bytes = Array("<a:\(name)>48".utf16).flatMap { unit -> [UInt8] in
            isBig ? [UInt8(unit >> 8), UInt8(unit & 0xFF)] : [UInt8(unit & 0xFF), UInt8(unit >> 8)]
        }
        #expect(try HiddenPositions(in: part(bytes), Cancellation()).obstacle != nil)
    }

    /// The positions of EXIF without a signature, in both resources of Photoshop.
    @Test(arguments: [0x22, 0x23] as [UInt8]) func positionsInResourcesOfPhotoshopAreRemoved(_ id: UInt8) throws {
        let block = EXIFSample.block()
        let part = try part(Array("8BIM".utf8) + [4, id, 0, 0, 0, 0, 0, UInt8(block.count)] + block)
        #expect(try HiddenPositions.remove(from: part, Cancellation()))
        let left = try #require(try part.bytes(at: 0, count: part.range.count))
        #expect(HiddenPositions.find(Array(block[80..<104]), in: left).isEmpty)
    }

    @Test func damagedEXIFOfFurtherPicturesIsAnObstacle() throws {
        for (block, isSound) in [(EXIFSample.block(hasPosition: false), true), (EXIFSample.block(type: 0), false)] {
            let found = try HiddenPositions(in: part(Array("Exif\0\0".utf8) + block), Cancellation())
            #expect((found.obstacle == nil) == isSound)
        }
    }

    @Test(arguments: [
        Data([0x89] + Array("PNG\r\n\u{1A}\n\0\0\0\u{8}eXIfsecret12".utf8)), Data("II*\0\u{8}\0\0\0secret1234".utf8),
    ])
    func otherPicturesInBase64LoseTheirEXIF(_ picture: Data) throws {
        let part = try part(Array("<a:Image>\(picture.base64EncodedString())</a:Image>".utf8))
        try HiddenPositions(in: part, Cancellation()).patches.apply(to: part.file, Cancellation())
        let left = String(decoding: try part.bytes(at: 0, count: part.range.count) ?? [], as: UTF8.self)
        #expect(left.hasPrefix("<a:Image>    ") && left.hasSuffix(" </a:Image>"))
    }

    /// A strip of TIFF that is a picture of WebP with EXIF.
    @Test func metadataInStripsOfTIFFIsRefused() throws {
        let chunks = Array("VP8 \u{2}\0\0\0ab".utf8)
        for (exif, isRefused) in [([], false), (Array("EXIF\u{2}\0\0\0ab".utf8), true)] as [([UInt8], Bool)] {
            let strip =
                Array("RIFF".utf8) + [UInt8(4 + chunks.count + exif.count), 0, 0, 0] + Array("WEBP".utf8) + chunks
                + exif
            func entry(_ tag: [UInt8], _ value: [UInt8]) -> [UInt8] { tag + [4, 0, 1, 0, 0, 0] + value + [0, 0] }
            let size = UInt8(strip.count)
            let entries = entry([3, 1], [0x51, 0xC3]) + entry([17, 1], [8, 0]) + entry([23, 1], [size, 0])
            let part = try part([0x49, 0x49, 42, 0, 8 + size, 0, 0, 0] + strip + [3, 0] + entries + [0, 0, 0, 0])
            let found = try? TIFFParts(in: part, Cancellation()).patches
            #expect((found == nil) == isRefused)
        }
    }
}
