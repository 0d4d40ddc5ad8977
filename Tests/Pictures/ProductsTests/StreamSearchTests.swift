import Foundation
import LinuxSystem
import TestSupport
import Testing

@testable import Products

/// Data beside the pictures of a video stream.
@Suite struct StreamSearchTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// Returns the bytes after a search has changed them. A second search finds nothing.
    private func left(_ search: some StreamSearch, of bytes: [UInt8]) throws -> [UInt8] {
        let path = directory.path("stream")
        try Data(bytes).write(to: URL(filePath: path))
        let file = try SharedDescriptor(opening: path, flags: O_RDWR)
        let part = FilePart(file: file, range: 0..<UInt64(bytes.count))
        try search.patches(for: part.range, in: part, Cancellation()).apply(to: file, Cancellation())
        #expect(try search.patches(for: part.range, in: part, Cancellation()).isEmpty)
        return try #require(try part.bytes(at: 0, count: bytes.count))
    }

    private func sized(_ unit: [UInt8]) -> [UInt8] { [0, 0, UInt8(unit.count >> 8), UInt8(unit.count & 0xFF)] + unit }

    private static let secret = Array("secret".utf8)

    /// - Parameter header: That of the unit, and of one of filler in its place; both the same if the unit stays.
    @Test(
        arguments: [
            (.h264, [0x1E], [12]), (.h264, [0], [12]), (.h264, [0x18], [12]), (.h264, [12], [12]), (.h264, [9], [12]),
            (.h264, [0x65], nil), (.h264, [0x67], nil), (.h264, [0x74], nil),
            (.hevc, [0x60, 1], [0x4C, 1]), (.hevc, [0x52, 1], [0x4C, 1]), (.hevc, [0x4C, 1], [0x4C, 1]),
            (.hevc, [0x7C, 1], nil), (.hevc, [0x40, 1], nil), (.hevc, [0x26, 1], nil),
            (.vvc, [0, 0xE1], [0, 0xC9]), (.vvc, [0, 0x79], nil),
        ] as [(SupplementalMessages.Codec, [UInt8], [UInt8]?)])
    func unitsThatCarryNoPictureBecomeFiller(
        _ codec: SupplementalMessages.Codec, _ header: [UInt8], _ filler: [UInt8]?
    ) throws {
        let configuration = [UInt8](repeating: 0xFF, count: 30)
        let search = try #require(SupplementalMessages(codec, configuration: configuration[...]))
        let picture: [UInt8] = codec == .h264 ? [0x65, 1, 2, 3] : codec == .hevc ? [0x26, 1, 2, 3] : [0, 1, 2, 3]
        let whole = sized(picture) + sized(header + Self.secret + [0x80]) + sized(picture)
        let left = try left(search, of: whole)
        let padding = [UInt8](repeating: 0xFF, count: 6) + [0x80]
        #expect(left == (filler.map { sized(picture) + sized($0 + padding) + sized(picture) } ?? whole))
    }

    @Test(
        arguments: [
            ([4, 11, 0xB5, 0, 0x3C, 0, 1, 1], false), ([4, 11, 0xB5, 0, 0x3C, 0, 1, 4], true),
            ([4, 14, 0xB5, 0, 0x31, 0x47, 0x41, 0x39, 0x34, 9], false),
            ([4, 14, 0xB5, 0, 0x31, 0x47, 0x41, 0x39, 0x34, 3], true),
            ([56, 6], false), ([200, 6], false), ([1, 6], true), ([137, 6], true),
        ] as [([UInt8], Bool)])
    func onlyKnownMessagesStay(_ message: [UInt8], _ isKnown: Bool) throws {
        let search = try #require(SupplementalMessages(.h264, configuration: [1, 0x64, 0, 10, 0xFF]))
        let size = Int(message[1])
        let payload = message.dropFirst(2) + [UInt8](repeating: 7, count: max(0, size - message.count + 2))
        let unit = sized([6] + message.prefix(2) + payload + [0x80])
        #expect((try left(search, of: unit) == unit) == isKnown)
    }

    private static let mark: [UInt8] = [0, 0, 1, 0xB2]

    @Test(arguments: [
        ("Lavc59.37.100", true, true), ("XviD0050", true, true), ("DivX503b1393p", true, true), ("", true, true),
        ("GA94\u{3}abc", true, false), ("GA94\u{9}abc", false, false), ("48.1375,11.5755", false, false),
        ("Lavc at 48.1375, 11.5755", false, false),
    ])
    func dataOfUsersBecomeSpaces(_ text: String, _ stays: Bool, _ staysBare: Bool) throws {
        let (before, after): ([UInt8], [UInt8]) = ([0, 0, 1, 0xB6, 5, 5], [0, 0, 1, 0xB6, 6, 6])
        for (isBare, stays) in [(false, stays), (true, staysBare)] {
            for end in [after, []] {
                let left = try left(UserData(isBare: isBare), of: before + Self.mark + Array(text.utf8) + end)
                let data = stays ? Array(text.utf8) : [UInt8](repeating: 0x20, count: text.utf8.count)
                #expect(left == before + Self.mark + data + end)
            }
        }
    }

    @Test func dataOfUsersAreFoundBetweenPieces() throws {
        for shift in 0..<6 {
            let before = [UInt8](repeating: 7, count: (1 << 20) - shift)
            let left = try left(UserData(isBare: false), of: before + Self.mark + Self.secret)
            #expect(left.suffix(6) == [UInt8](repeating: 0x20, count: 6)[...])
        }
    }

    @Test func pictureOfMPEG4IsDescribedBehindTwoDescriptors() {
        let decoder: [UInt8] = [4, 0x80, 0x80, 18] + [UInt8](repeating: 0, count: 13) + [5, 3, 7, 8, 9]
        let box = [0, 0, 0, 0, 3, 0x80, 30, 0, 1, 0] + decoder + [6, 1, 2]
        #expect(UserData.description(in: box, from: 0).map { Array(box[$0]) } == [7, 8, 9])
        for end in 0..<(box.count - 3) { #expect(UserData.description(in: Array(box[..<end]), from: 0) == nil) }
    }

    @Test func metadataOfAV1BecomePadding() throws {
        func unit(_ type: UInt8, _ content: [UInt8]) -> [UInt8] { [type << 3 | 2, UInt8(content.count)] + content }
        let known = unit(1, Self.secret) + unit(6, Self.secret) + unit(5, [1, 0, 5]) + unit(15, [0, 0, 0x80])
        let dynamicRange = unit(5, [4, 0xB5, 0, 0x3C, 0, 1, 4, 9])
        for foreign in [unit(5, [4, 0xB5, 0, 0x31] + Self.secret), unit(9, Self.secret), unit(15, Self.secret)] {
            let left = try left(OpenUnits(endsWithRange: false), of: known + foreign + dynamicRange)
            let count = foreign.count - 3
            #expect(left == known + unit(15, [UInt8](repeating: 0xFF, count: count) + [0x80]) + dynamicRange)
        }
        // The last unit of a sample may have no size.
        let last = [6 << 3] + Self.secret
        #expect(try left(OpenUnits(endsWithRange: true), of: known + last) == known + last)
        #expect(throws: ProductFailure.self) { try left(OpenUnits(endsWithRange: false), of: known + last) }
        #expect(throws: ProductFailure.self) {
            try left(OpenUnits(endsWithRange: true), of: known + [0x0A, 0xFF, 0xFF])
        }
    }

    /// Each beginning of a picture in base64 leads over 256 KiB, and each of a video over all boxes behind.
    @Test(.timeLimit(.minutes(1)), arguments: ["/9j/", "gpsitude", "\0\0\0\u{C}ftypisom"])
    func filesThatAreMadeToTakeLongAreRefused(_ piece: String) throws {
        let path = directory.path("long")
        try Data(String(repeating: piece, count: 300_000).utf8).write(to: URL(filePath: path))
        let file = try SharedDescriptor(opening: path, flags: O_RDONLY)
        let part = FilePart(file: file, range: 0..<UInt64(300_000 * piece.utf8.count))
        #expect(throws: ProductFailure.self) {
            _ = try HiddenPositions(in: part, Cancellation())
            _ = try EmbeddedVideos.find(in: part, Cancellation())
        }
    }
}
