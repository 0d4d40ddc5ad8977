import Foundation
import LinuxSystem
import TestSupport
import Testing

@testable import Products

/// Pictures whose headers tell too little or too much: nothing that a decoder reads is ever overwritten.
@Suite struct PixelSafetyTests {
    private let samples: SampleParts

    init() throws { samples = try SampleParts() }

    private func part(_ bytes: [UInt8]) throws -> FilePart { try samples.part(bytes) }

    private static func little(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    // MARK: BMP

    /// A bitmap of 10 times 4 pixels.
    private func bitmap(size: Int, compression: Int = 0, coded: Int = 0) -> [UInt8] {
        let header =
            Self.little(40, 4) + Self.little(10, 4) + Self.little(-4, 4) + [1, 0, 24, 0] + Self.little(compression, 4)
            + Self.little(coded, 4)
        return Array("BM".utf8) + Self.little(size, 4) + [0, 0, 0, 0, 54, 0, 0, 0] + header
            + [UInt8](repeating: 0, count: 16) + [UInt8](repeating: 7, count: 128)
    }

    @Test(arguments: [0, 60, 128, 182, 1 << 20]) func pixelsOfBitmapsStayWhateverTheSizeOfTheFileIs(_ size: Int) throws
    {
        let secret = Array("secret".utf8)
        let part = try part(bitmap(size: size) + secret)
        let patches = try PictureParts(in: part, type: "image/bmp", videos: [], Cancellation()).patches
        #expect(Array(patches) == [.zeros(182..<188)])
        let plain = try self.part(bitmap(size: size))
        #expect(try PictureParts(in: plain, type: "image/bmp", videos: [], Cancellation()).patches.isEmpty)
    }

    @Test func bitmapsWithoutAnEndAreRefused() throws {
        for (compression, coded) in [(1, 0), (4, 100)] {
            let part = try part(bitmap(size: 182, compression: compression, coded: coded))
            #expect(throws: ProductFailure.self) {
                try PictureParts(in: part, type: "image/bmp", videos: [], Cancellation())
            }
        }
    }

    // MARK: TIFF

    private typealias Entry = (tag: Int, type: UInt8, value: Int)

    /// A picture of 10 times 4 pixels of 8 bits, behind other data.
    private func picture(_ changes: [Int: Int?], further: [Entry] = []) -> [UInt8] {
        var entries: [Entry] = [
            (256, 3, 10), (257, 3, 4), (258, 3, 8), (259, 3, 1), (262, 3, 1), (273, 4, 8), (277, 3, 1), (278, 3, 4),
            (279, 4, 40),
        ]
        entries = (entries + further).sorted { $0.tag < $1.tag }.compactMap { entry in
            guard let change = changes[entry.tag] else { return entry }
            return change.map { (entry.tag, entry.type, $0) }
        }
        var file: [UInt8] = [0x49, 0x49, 42, 0, 48, 0, 0, 0]
        file += [UInt8](repeating: 7, count: 40) + Self.little(entries.count, 2)
        for entry in entries {
            file += Self.little(entry.tag, 2) + [entry.type, 0, 1, 0, 0, 0] as [UInt8] + Self.little(entry.value, 4)
        }
        return file + [0, 0, 0, 0]
    }

    @Test func wholePicturesPass() throws {
        let part = try part(picture([:]))
        for isBare in [false, true] {
            #expect(try TIFFParts(in: part, isBare: isBare, Cancellation()).patches.isEmpty)
        }
    }

    @Test(arguments: [nil, 0, 39, 1] as [Int?]) func stripsOfUnknownSizeAreRefused(_ size: Int?) throws {
        let part = try part(picture([279: size]))
        #expect(throws: ProductFailure.refused("the sizes of the picture's strips or tiles are damaged")) {
            try TIFFParts(in: part, Cancellation())
        }
    }

    /// Where an entry of ``picture(_:further:)`` is.
    private static func entry(_ index: Int) -> Int { 50 + 12 * index }

    @Test func aPictureThatTellsNoDepthIsRead() throws {
        var file = picture([262: 6, 277: 3])
        // The number of the values of BitsPerSample.
        file[Self.entry(2) + 4] = 0
        #expect(try TIFFParts(in: part(file), Cancellation()).patches.isEmpty)
    }

    @Test func placesOfEightBytesAreRefused() throws {
        var file = picture([:])
        // StripOffsets as a number with a fraction.
        file[Self.entry(5) + 2] = 12
        file.replaceSubrange(8..<16, with: repeatElement(0xFF, count: 8))
        let part = try part(file)
        #expect(throws: ProductFailure.self) { try TIFFParts(in: part, Cancellation()) }
    }

    /// Tables that only the maker of a camera knows lead to nothing.
    @Test(arguments: [(262, 32803), (259, 32770)])
    func rawFilesUnderTheNameOfTIFFKeepAllParts(_ tag: Int, _ value: Int) throws {
        let part = try part(picture([tag: value]) + [UInt8](repeating: 9, count: 30))
        let parts = try TIFFParts(in: part, Cancellation())
        #expect(parts.patches.isEmpty && parts.isRaw)
        #expect(throws: ProductFailure.self) { try TIFFParts(in: part, isBare: true, Cancellation()) }
    }

    @Test func partsThatNobodyCanTellApartAreRefused() throws {
        let big = try part([0x49, 0x49, 43, 0, 8, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0])
        let old = try part(picture([259: 6], further: [(519, 4, 8)]))
        for part in [big, old] {
            #expect(throws: ProductFailure.self) { try TIFFParts(in: part, Cancellation()) }
        }
        let bare = try part([0xFF, 0x0A, 0, 0, 0, 0, 0, 0])
        #expect(throws: ProductFailure.self) {
            try PictureParts(in: bare, type: "image/jxl", videos: [], Cancellation())
        }
    }
}
