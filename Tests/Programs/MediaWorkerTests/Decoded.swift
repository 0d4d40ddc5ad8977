import Foundation
import TestSupport

/// A picture decoded by ffmpeg, which is independent of the library that made the picture.
struct Decoded {
    let width: Int
    let height: Int
    /// Red, green, blue and alpha, 8 bits each.
    let bytes: [UInt8]

    struct Failure: Error { let reason: String }

    init(_ file: [UInt8]) throws {
        let directory = try TemporaryDirectory(prefix: "decoded")
        let path = directory.path("file")
        try Data(file).write(to: URL(filePath: path))
        let ffmpeg = try Command.run(
            "/usr/bin/env",
            [
                "ffmpeg", "-v", "error", "-i", path, "-frames:v", "1", "-pix_fmt", "rgba", "-c:v", "pam", "-f",
                "image2pipe", "-",
            ])
        guard ffmpeg.code == 0 else { throw Failure(reason: "ffmpeg: exit \(ffmpeg.code)") }
        let pam = ffmpeg.bytes
        guard let end = pam.firstRange(of: Array("ENDHDR\n".utf8))?.upperBound else {
            throw Failure(reason: "ffmpeg made no PAM")
        }
        let words = String(decoding: pam[..<end], as: UTF8.self).split { $0 == " " || $0 == "\n" }
        func number(after word: Substring) -> Int {
            words.firstIndex(of: word).flatMap { Int(words[$0 + 1]) } ?? 0
        }
        width = number(after: "WIDTH")
        height = number(after: "HEIGHT")
        bytes = Array(pam[end...])
        guard bytes.count == 4 * width * height else { throw Failure(reason: "PAM of another size") }
    }

    subscript(_ x: Int, _ y: Int) -> Pixel {
        let start = 4 * (y * width + x)
        return Pixel(red: bytes[start], green: bytes[start + 1], blue: bytes[start + 2], alpha: bytes[start + 3])
    }

    /// Names of the colours at the centres of the quadrants: upper left, upper right, lower left, lower right.
    var quadrants: String {
        [(1, 1), (3, 1), (1, 3), (3, 3)].map { self[width * $0.0 / 4, height * $0.1 / 4].name }.joined(separator: " ")
    }
}

/// One pixel of a picture.
struct Pixel: Equatable {
    var red, green, blue, alpha: UInt8

    /// `clear` for a transparent pixel; else the name of a fixture colour, or of black or white, if each channel is
    /// within 20; else the three numbers.
    var name: String {
        if alpha == 0 { return "clear" }
        let names: [(String, [Int])] = [
            ("red", [255, 0, 0]), ("green", [0, 160, 0]), ("blue", [0, 0, 255]), ("yellow", [255, 255, 0]),
            ("black", [0, 0, 0]), ("white", [255, 255, 255]),
        ]
        let own = [red, green, blue].map(Int.init)
        let near = names.first { _, colour in zip(own, colour).allSatisfy { abs($0 - $1) <= 20 } }
        return near?.0 ?? "(\(red) \(green) \(blue))"
    }
}
