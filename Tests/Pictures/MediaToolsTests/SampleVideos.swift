import Foundation
import TestSupport
import UploadCore

@testable import MediaTools

/// Small videos that ffmpeg makes on demand.
struct SampleVideos {
    let directory: TemporaryDirectory

    struct Trouble: Error, CustomStringConvertible {
        let description: String
    }

    /// Makes two seconds of a test pattern, 320 × 240 unless the options change the size.
    func make(_ name: String, _ options: String = "") async throws -> String {
        try await ffmpeg("-f lavfi -i testsrc=size=320x240:rate=10:duration=2 \(options) \(directory.path(name))")
        return directory.path(name)
    }

    /// Runs ffmpeg. Spaces separate the options; an option can't contain a space.
    func ffmpeg(_ options: String) async throws {
        let arguments = "-nostdin -hide_banner -loglevel error -y \(options)".split(separator: " ").map(String.init)
        guard let program = VideoPrograms.found.converter else {
            throw Trouble(description: "these tests need ffmpeg: scripts/packages.sh installs it")
        }
        let run = try await Program.run(program, arguments, environment: [:], directory: directory.path)
        guard run.ending == .exited(0) else { throw Trouble(description: "ffmpeg \(options): \(run.standardError)") }
    }
}

extension MediaType {
    init(video: String) { self.init(kind: .video, mime: "video/\(video)") }
}
