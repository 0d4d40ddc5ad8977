import EndToEndSupport
import Foundation
import MediaTestSupport
import TestSupport
import Testing

/// One agent with files that have positions in every place that cameras, phones and programs use.
@Suite(
    "Positions in real files", .agents,
    .enabled(
        if: LocationFiles.canBeMade && MediaFiles.ffprobe != nil && LocationFiles.exiv2 != nil,
        "needs exiftool, exiv2 and ffmpeg"))
struct LocationTests {
    /// Makes files in a directory of their own.
    private func made(_ cases: [LocationCase]) async throws -> LocationFiles {
        let files = try LocationFiles()
        for file in cases { try await file.make(files, file.name) }
        return files
    }

    @Test("never reach the server: it stores files without them, and nothing of a file whose positions stay")
    func corpus() async throws {
        async let madePictures = made(LocationCase.pictures)
        let others = LocationCase.videos + LocationCase.foreign + LocationCase.refused
        async let madeVideos = made(others)
        let (pictures, videos) = try await (madePictures, madeVideos)
        let receiver = try await Receiver.started()
        let agent = try Agent(remote: receiver.url, ["media.strip_location": true])
        var seen = 0
        for (files, cases) in [(pictures, LocationCase.pictures), (videos, others)] {
            for file in cases {
                let path = files.path(file.name)
                if try await files.secondReaderFindsPosition(at: path, named: file.name) { seen += 1 }
                try Files.rename(path, to: agent.path(file.name))
            }
        }
        // Without this, a blind second reader would prove nothing.
        #expect(seen >= 40, "the second reader sees the positions of \(seen) files")

        try await agent.start()
        var products: [String: String] = [:]
        for file in LocationCase.all {
            let sidecar = try await agent.reached(file.name, .done)
            #expect(sidecar.product?.recipe == "strip location", "\(file): \(sidecar.brief)")
            products[file.name] = sidecar.product?.key
        }
        for file in LocationCase.refused {
            let sidecar = try await agent.reached(file.name, .failed)
            #expect(sidecar.error?.code == "location_not_removed", "\(file): \(sidecar.brief)")
        }
        #expect(products.count == LocationCase.all.count && products.count >= 40)

        var objects: [String: String] = [:]
        for name in Files.regularFiles(receiver.root) {
            let path = "\(receiver.root)/\(name)"
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            #expect(LocationFiles.position(in: bytes) == nil, "\(name) on the server")
            if name.hasPrefix("objects/") { objects[Digest.md5(Array(bytes))] = path }
        }
        #expect(Set(objects.keys) == Set(products.values), "objects on the server")
        for (name, key) in products {
            let path = try #require(objects[key])
            #expect(try await !pictures.secondReaderFindsPosition(at: path, named: name), "\(name) on the server")
        }
    }
}
