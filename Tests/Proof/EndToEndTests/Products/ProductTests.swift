import EndToEndSupport
import Foundation
import MediaTestSupport
import TestSupport
import Testing

/// Real programs process real files, and the receiver gets the result.
@Suite("Files that are processed before their upload", .agents)
struct ProductTests {
    /// Runs a program and returns its output.
    @discardableResult
    private func run(_ agent: Agent, _ words: String...) async throws -> String {
        let output = try await Program.run(
            "/usr/bin/env", words, environment: agent.environment, directory: agent.directory.path)
        try #require(output.code == 0, "\(words): \(output)")
        return output.standardOutput
    }

    /// Makes a picture with a position and drops it.
    private func dropLocated(_ name: String, in agent: Agent) async throws {
        let made = agent.directory.path("made-" + name)
        try await run(
            agent, "ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc=size=640x480", "-frames:v", "1", made)
        try await run(
            agent, "exiftool", "-q", "-overwrite_original", "-GPSLatitude=48.137", "-GPSLatitudeRef=N",
            "-GPSLongitude=11.575", "-GPSLongitudeRef=E", "-Model=Camera", made)
        try FileManager.default.moveItem(atPath: made, toPath: agent.path(name))
    }

    private func stored(_ name: String, by receiver: Receiver) throws -> String {
        let tree = "\(receiver.root)/files"
        let found = try #require(Files.regularFiles(tree).first { $0.hasSuffix("/" + name) })
        return "\(tree)/\(found)"
    }

    @Test("positions are gone from what the server gets, and everything else stays")
    func location() async throws {
        let receiver = try await Receiver.started()
        let agent = try Agent(remote: receiver.url, ["media.strip_location": true])
        try await dropLocated("a.jpg", in: agent)
        try await agent.start()
        let sidecar = try await agent.reached("a.jpg", .done)
        #expect(sidecar.key == (try Digest.md5(file: agent.path("a.jpg"))))
        #expect(sidecar.product?.recipe == "strip location")
        let file = try stored("a.jpg", by: receiver)
        #expect(sidecar.product?.key == (try Digest.md5(file: file)))
        #expect(try await run(agent, "exiftool", "-s3", "-n", "-gps:all", file) == "")
        #expect(try await run(agent, "exiftool", "-s3", "-Model", file) == "Camera\n")
        #expect(try await run(agent, "exiftool", "-s3", "-n", "-GPSLatitude", agent.path("a.jpg")) == "48.137\n")
    }

    @Test("all metadata are gone if the owner wants it, and what can't do without them is not sent")
    func metadata() async throws {
        let receiver = try await Receiver.started()
        let agent = try Agent(remote: receiver.url, ["media.strip_metadata": true])
        try await dropLocated("a.jpg", in: agent)
        let files = try LocationFiles()
        try await files.base("a.nef")
        try Files.rename(files.path("a.nef"), to: agent.path("a.nef"))
        try await agent.start()
        #expect(try await agent.reached("a.jpg", .done).product?.recipe == "strip metadata")
        let file = try stored("a.jpg", by: receiver)
        #expect(try await run(agent, "exiftool", "-s3", "-Model", "-gps:all", file) == "")
        #expect(try await agent.reached("a.nef", .failed).error?.code == "metadata_not_removed")
        #expect(try receiver.objects().count == 1)
    }

    @Test("without exiftool nothing with a position is sent, and a retry after its installation sends it")
    func withoutExifTool() async throws {
        let receiver = try await Receiver.started()
        let agent = try Agent(remote: receiver.url, ["media.strip_location": true])
        let path = agent.environment["PATH"]
        try await dropLocated("a.jpg", in: agent)
        agent.environment["PATH"] = agent.directory.path
        try await agent.start()
        let sidecar = try await agent.reached("a.jpg", .failed)
        #expect(sidecar.error?.code == "location_not_removed")
        #expect(sidecar.error?.message.contains("exiftool") == true)
        #expect(try receiver.objects() == [])
        try await agent.stop()
        agent.environment["PATH"] = path
        try await agent.start()
        #expect(try await agent.command("retry", "a.jpg").code == 0)
        try await agent.returned("a.jpg", to: .done)
    }

    @Test("a large picture becomes a smaller JPEG under a JPEG's name, and the status says what was saved")
    func compression() async throws {
        let receiver = try await Receiver.started()
        let agent = try Agent(
            remote: receiver.url, ["media.compress_images": true, "media.max_dimension": 200])
        try await agent.start()
        try agent.drop("a.png", NumberedPicture(77_000).png)
        let sidecar = try await agent.reached("a.png", .done)
        let product = try #require(sidecar.product)
        #expect(product.type == "image/jpeg" && product.error == nil)
        #expect(max(product.width ?? 0, product.height ?? 0) == 200)
        #expect((product.size ?? .max) < (sidecar.size ?? 0) / 2)
        let bytes = FileManager.default.contents(atPath: try stored("a.jpg", by: receiver))
        #expect(bytes?.prefix(2) == Data([0xFF, 0xD8]) && bytes?.count == product.size)
        let status = try await agent.command("status")
        #expect(status.standardOutput.contains("saved"))
    }

    @Test("a video becomes an MP4 of the wanted height, with its progress in the sidecar's state")
    func video() async throws {
        let receiver = try await Receiver.started()
        let agent = try Agent(
            remote: receiver.url, ["media.transcode_video": true, "media.video_height": 144])
        try await agent.start()
        let made = agent.directory.path("made.mkv")
        try await run(
            agent, "ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc=duration=2:size=640x480:rate=10",
            "-c:v",
            "mpeg4", "-q:v", "1", made)
        try FileManager.default.moveItem(atPath: made, toPath: agent.path("clip.mkv"))
        let sidecar = try await agent.reached("clip.mkv", .done)
        #expect(sidecar.product?.type == "video/mp4" && sidecar.product?.height == 144)
        let file = try stored("clip.mp4", by: receiver)
        let streams = try await run(
            agent, "ffprobe", "-loglevel", "error", "-show_entries", "stream=codec_name,height", "-of", "csv=p=0", file)
        #expect(streams.contains("h264,144"))
    }

    @Test("deleting originals of which the server has less is a configuration error unless allowed")
    func deletion() async throws {
        let agent = try Agent(
            remote: "http://127.0.0.1:9", ["media.compress_images": true, "intake.after_upload": "delete"])
        let refused = try await agent.command("config", "check")
        #expect(refused.code == 78)
        #expect(refused.standardError.contains("delete_originals"))
        try agent.configure(["media.delete_originals": true])
        #expect(try await agent.command("config", "check").code == 0)
    }
}
