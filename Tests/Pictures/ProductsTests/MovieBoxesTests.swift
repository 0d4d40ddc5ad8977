import Foundation
import LinuxSystem
import MediaTestSupport
import TestSupport
import Testing
import UploadCore

@testable import Products

/// Boxes of MP4 and QuickTime files, made by hand.
enum BoxSample {
    static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
        number(content.count + 8, 4) + type.latin + content
    }

    static func number(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * (count - 1 - $0))) }
    }

    /// Inserts boxes at the end of the first box of the last of these types, each within the one before.
    static func insert(_ boxes: [UInt8], into path: [String], of file: [UInt8]) throws -> [UInt8] {
        var file = file
        var (start, end) = (0, file.count)
        for type in path {
            var offset = start
            while file[(offset + 4)..<(offset + 8)] != type.latin[...] {
                offset += size(at: offset, in: file)
                try #require(offset + 8 <= end, "no \(type)")
            }
            end = offset + size(at: offset, in: file)
            file.replaceSubrange(offset..<(offset + 4), with: number(end - offset + boxes.count, 4))
            start = offset + 8
        }
        file.insert(contentsOf: boxes, at: end)
        return file
    }

    private static func size(at offset: Int, in file: [UInt8]) -> Int {
        file[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int($1) }
    }

    /// Where a phone or camera was, in a box that ffprobe reads (3GPP TS 26.244, 8.10).
    static let position = box("udta", box("loci", [UInt8](repeating: 0, count: 8) + Array("secret place\0".utf8)))
}

extension String {
    /// Each character is a byte.
    fileprivate var latin: [UInt8] { unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }
}

@Suite("Boxes that a conversion would lose") struct MovieBoxesTests {
    private let files: MediaFiles

    init() throws { files = try MediaFiles() }

    private func video() async throws -> [UInt8] {
        let path = try await files.make(
            "-f lavfi -i testsrc2=size=64x64:rate=10:duration=1 -f lavfi -i sine -t 1 -c:v mpeg4 -c:a aac -metadata title=a v.mp4"
        )
        return [UInt8](try Data(contentsOf: URL(filePath: path)))
    }

    private func obstacle(in file: [UInt8]) throws -> String? {
        let path = try files.write(file, "file-\(UUID().uuidString)")
        let file = FilePart(
            file: try SharedDescriptor(opening: path, flags: O_RDONLY), range: 0..<UInt64(file.count))
        return try MovieBoxes(file).obstacle
    }

    @Test func `a plain video holds nothing else`() async throws {
        #expect(try await obstacle(in: video()) == nil)
        let path = try await files.make(
            "-f lavfi -i testsrc=duration=1 -c:v mpeg4 -movflags frag_keyframe+empty_moov fragments.mp4")
        #expect(try obstacle(in: [UInt8](Data(contentsOf: URL(filePath: path)))) == nil)
    }

    @Test(arguments: [
        (["moov"], "gps ", "gps?"), (["moov", "trak"], "gps ", "gps?"), (["moov", "udta"], "GPMF", "GPMF"),
        (["moov", "udta", "meta"], "xml ", "xml?"), (["moov", "trak", "mdia", "minf", "stbl"], "gps ", "gps?"),
    ])
    func `boxes of an unknown kind are noticed wherever they are`(
        path: [String], type: String, name: String
    ) async throws {
        let file = try BoxSample.insert(BoxSample.box(type, Array("data".utf8)), into: path, of: try await video())
        #expect(try obstacle(in: file) == "a box of the unknown kind \(name)")
    }

    @Test func `data of no track, data in free space, and a second movie are noticed`() async throws {
        let plain = try await video()
        let noise = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 37 | 1) }
        #expect(try obstacle(in: plain + BoxSample.box("mdat", noise)) == "data that belong to no track")
        #expect(try obstacle(in: plain + BoxSample.box("mdat", [UInt8](repeating: 0, count: 10_000))) == nil)
        #expect(try obstacle(in: plain + BoxSample.box("free", [1])) == "data in free space")
        #expect(try obstacle(in: plain + BoxSample.box("free", [0])) == nil)
        #expect(try obstacle(in: plain + plain) == "a second movie")
    }
}

/// Places of a video in which nobody but a few readers looks for positions.
@Suite(.enabled(if: LocationFiles.canBeMade, "needs exiftool and ffmpeg"), .serialized) struct InnerBoxTests {
    private static let secret = Array("secret".utf8)

    @Test(arguments: [
        ["moov", "trak"], ["moov", "trak", "mdia", "minf"], ["moov", "trak", "mdia", "minf", "dinf"], ["moov"],
    ])
    func boxesWithinReferencesAndSettingsAreCleared(_ path: [String]) async throws {
        let files = try LocationFiles()
        try await files.base("a.mp4")
        let plain = try [UInt8](files.bytes("a.mp4"))
        let stage = try RemoverStage()
        let types =
            path.count == 1 ? ["pssh", "rmra", "ctab"] : path.count == 2 ? ["tref", "tapt", "clip", "matt"] : ["gmhd"]
        for type in types {
            let file = try BoxSample.insert(BoxSample.box(type, BoxSample.position), into: path, of: plain)
            let product = try #require(
                try await StepRun(stage.remover, on: files.media.write(file, "boxed.mp4")).product, "\(type)")
            #expect(HiddenPositions.find(Self.secret, in: [UInt8](product)).isEmpty, "\(type)")
            _ = try files.media.write(product, "product.mp4")
            #expect(try await files.essence(of: "a.mp4") == files.essence(of: "product.mp4"))
        }
    }

    /// Searches descriptions.
    private func search(
        _ entry: [UInt8], _ kind: SampleDescriptions.Kind, version: UInt8 = 0
    ) throws -> (left: [UInt8], obstacle: String?) {
        let directory = try TemporaryDirectory()
        let bytes = BoxSample.box("stsd", [version, 0, 0, 0, 0, 0, 0, 1] + entry)
        let path = directory.path("stsd")
        try Data(bytes).write(to: URL(filePath: path))
        let part = FilePart(
            file: try SharedDescriptor(opening: path, flags: O_RDWR), range: 0..<UInt64(bytes.count))
        let box = try #require(try Box(at: 0, in: part))
        let found = try SampleDescriptions(in: box, of: kind, part, Cancellation())
        try found.patches.apply(to: part.file, Cancellation())
        return (Array(try #require(try part.bytes(at: 16, count: entry.count))), found.obstacle)
    }

    private static let head = [UInt8](repeating: 0, count: 74) + [0, 24, 0xFF, 0xFF]
    private static let shape = BoxSample.box("pasp", [0, 0, 0, 1, 0, 0, 0, 1])

    @Test func boxesWithinDescriptionsOfPicturesAreCleared() throws {
        for box in [
            BoxSample.position, BoxSample.box("uuid", Self.secret), BoxSample.box("pasp", Self.shape + Self.secret),
        ] {
            let known = BoxSample.box("avcC", [1, 100, 0, 10, 255]) + Self.shape
            let (left, obstacle) = try search(BoxSample.box("avc1", Self.head + known + box), .pictures)
            #expect(obstacle == nil && HiddenPositions.find(Self.secret, in: left).isEmpty)
            #expect(!HiddenPositions.find(known, in: left).isEmpty)
        }
        // The decoder of an unknown codec may need any box.
        let unknown = BoxSample.box("abcd", Self.head + BoxSample.box("abcC", [1]))
        #expect(try search(unknown, .pictures).obstacle != nil)
    }

    @Test func palettesAndSettingsStay() throws {
        let palette = [UInt8](repeating: 0, count: 74) + [0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1] + [UInt8](1...16)
        let sound = [UInt8](repeating: 0, count: 8)
        let wave = BoxSample.box(
            "wave",
            BoxSample.box("frma", Array("mp4a".utf8)) + BoxSample.box("esds", [0, 0, 0, 0, 3]) + [
                0, 0, 0, 8, 0, 0, 0, 0,
            ])
        let entries: [([UInt8], SampleDescriptions.Kind)] = [
            (BoxSample.box("rle ", palette), .pictures), (BoxSample.box("rle ", palette + Self.shape), .pictures),
            (BoxSample.box("mp4a", sound + [0, 1] + [UInt8](repeating: 0, count: 34) + wave), .sound),
            (BoxSample.box("mp4a", sound + [UInt8](repeating: 0, count: 20) + BoxSample.box("esds", [0, 3])), .sound),
            (
                BoxSample.box(
                    "mp4a", sound + [0, 1] + [UInt8](repeating: 0, count: 18) + BoxSample.box("esds", [0, 3])), .sound
            ),
            (BoxSample.box("wvtt", sound + BoxSample.box("vttC", Array("WEBVTT".utf8))), .others),
            (BoxSample.box("tx3g", sound + [UInt8](repeating: 0, count: 30) + BoxSample.box("ftab", [0, 0])), .others),
            (BoxSample.box("text", sound + [UInt8](repeating: 0, count: 30) + BoxSample.box("ftab", [0, 0])), .others),
            (BoxSample.box("c608", sound + BoxSample.box("btrt", [UInt8](repeating: 1, count: 12))), .others),
            (
                BoxSample.box("text", sound + [UInt8](repeating: 0, count: 37) + [255, 255, 255, 255, 255, 255]),
                .others
            ),
            (BoxSample.box("text", sound + [UInt8](repeating: 0, count: 43) + [2, 65, 66]), .others),
        ]
        for (entry, kind) in entries {
            let (left, obstacle) = try search(entry, kind)
            #expect(left == entry && obstacle == nil, "\(entry)")
        }
    }
}
