import Foundation
package import TestSupport

/// Pictures and videos that ffmpeg makes for a test.
package struct MediaFiles: Sendable {
    package let directory: TemporaryDirectory

    package static let ffmpeg = program("ffmpeg")
    package static let ffprobe = program("ffprobe")

    package struct Trouble: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }

    package init() throws { directory = try TemporaryDirectory() }

    /// Runs ffmpeg; the last option is the name of the result. Spaces separate the options; an option can't contain one.
    ///
    /// - Returns: The path of the result.
    @discardableResult
    package func make(_ options: String) async throws -> String {
        guard let program = Self.ffmpeg else {
            throw Trouble(description: "these tests need ffmpeg: scripts/packages.sh installs it")
        }
        _ = try await run(program, "-nostdin -hide_banner -loglevel error -y \(options)")
        return directory.path(String(options.split(separator: " ").last ?? ""))
    }

    /// Returns what ffprobe prints about a file: lines such as `codec_name=h264`.
    package func probe(_ path: String, _ entries: String) async throws -> [String] {
        let options = "-loglevel error -count_frames -of default=noprint_wrappers=1 -show_entries \(entries) \(path)"
        guard let program = Self.ffprobe else {
            throw Trouble(description: "these tests need ffprobe: scripts/packages.sh installs it")
        }
        return try await run(program, options).split(separator: "\n").map(String.init)
    }

    /// The names of the colours in the quadrants of the first picture as shown: upper left, upper right, lower left,
    /// lower right.
    package func quadrants(_ path: String) async throws -> [String] {
        try await make("-i \(path) -frames:v 1 -vf scale=2:2:flags=area -pix_fmt rgb24 -f rawvideo quadrants")
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: directory.path("quadrants"))))
        guard bytes.count == 12 else { throw Trouble(description: "\(path): \(bytes.count) bytes for four pixels") }
        return stride(from: 0, to: 12, by: 3).map { offset in
            switch bytes[offset..<offset + 3].map({ $0 > 100 }) {
            case [true, false, false]: "red"
            case [false, true, false]: "green"
            case [false, false, true]: "blue"
            case [true, true, false]: "yellow"
            default: "\(bytes[offset..<offset + 3])"
            }
        }
    }

    /// Writes a file.
    package func write(_ data: some Sequence<UInt8>, _ name: String) throws -> String {
        try Data(data).write(to: URL(filePath: directory.path(name)))
        return directory.path(name)
    }

    private func run(_ program: String, _ options: String) async throws -> String {
        let run = try await Program.run(
            program, options.split(separator: " ").map(String.init), environment: [:], directory: directory.path)
        guard run.ending == .exited(0) else { throw Trouble(description: "\(options): \(run.standardError)") }
        return run.standardOutput
    }

    /// A source of four colours, 320 × 240, for ffmpeg.
    package static func colours(seconds: Double) -> String {
        let corners = ["red", "0x00A000", "blue", "yellow"].map {
            "-f lavfi -i color=\($0):size=160x120:rate=10:duration=\(seconds)"
        }
        return corners.joined(separator: " ") + " -filter_complex xstack=inputs=4:layout=0_0|w0_0|0_h0|w0_h0"
    }

    /// Returns the absolute path of a program in `PATH`; nil if it is not installed.
    package static func program(_ name: String) -> String? {
        (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
            .map { "\($0)/\(name)" }.first { $0.hasPrefix("/") && FileManager.default.isExecutableFile(atPath: $0) }
    }
}
