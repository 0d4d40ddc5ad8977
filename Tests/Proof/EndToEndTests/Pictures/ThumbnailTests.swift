import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("Sizes and thumbnails", .agents)
struct ThumbnailTests {
    private func thumbnail(_ key: String, of agent: Agent) -> [UInt8]? {
        FileManager.default.contents(atPath: "\(agent.state)/thumbnails/\(key).jpg").map(Array.init)
    }

    @Test("a picture's size is in its sidecar, and its thumbnail in the state directory")
    func picture() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let picture = NumberedPicture(7)
        // A legal file name, but parsed as options by programs that open pictures by name.
        let name = "a[n=-1,shrink=8].png"
        try agent.drop(name, picture.png)
        let sidecar = try await agent.reached(name, .done) { $0.width != nil }
        #expect([sidecar.width, sidecar.height] == [picture.width, picture.height])
        #expect(sidecar.duration == nil)
        let key = try #require(sidecar.key)
        try await Poll.until("a thumbnail") { thumbnail(key, of: agent) != nil }
        let sides = try NumberedPicture.sides(ofJPEG: #require(thumbnail(key, of: agent)))
        #expect(sides?.width == 150 && sides?.height == 150)
        expectClean(server, finished: [key])
    }

    @Test("preLoad contains the picture's size if the agent knows it by then")
    func preLoad() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        _ = try await agent.command("pause", "--all")
        let picture = NumberedPicture(9)
        try agent.drop("a.png", picture.png)
        try await agent.reached("a.png", .paused) { $0.width != nil }
        _ = try await agent.command("resume", "--all")
        try await agent.reached("a.png", .done)
        let body = try #require(server.records.first { $0.endpoint == .preLoad }?.body)
        let request = try #require(try JSONSerialization.jsonObject(with: body) as? [String: Any])
        let file = try #require((request["files"] as? [[String: Any]])?.first)
        #expect(file["width"] as? Int == picture.width)
        #expect(file["height"] as? Int == picture.height)
    }

    @Test("a video gets a size, a duration and a thumbnail")
    func video() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let made = try await Program.run(
            "/usr/bin/env",
            [
                "ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc=duration=2:size=320x240:rate=10", "-c:v",
                "mpeg4",
                "-y", agent.directory.path("made.mp4"),
            ], environment: agent.environment, directory: agent.directory.path)
        try #require(made.code == 0)
        try FileManager.default.moveItem(atPath: agent.directory.path("made.mp4"), toPath: agent.path("clip.mp4"))
        let sidecar = try await agent.reached("clip.mp4", .done) { $0.width != nil }
        #expect([sidecar.width, sidecar.height] == [320, 240])
        #expect(abs((sidecar.duration ?? 0) - 2) < 0.2)
        let key = try #require(sidecar.key)
        try await Poll.until("a thumbnail") { thumbnail(key, of: agent) != nil }
        let sides = try NumberedPicture.sides(ofJPEG: #require(thumbnail(key, of: agent)))
        #expect(sides?.width == 150 && sides?.height == 150)
    }

    @Test("an undecodable picture is uploaded anyway, and does not affect the next picture")
    func damaged() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.drop("bad.jpg", [0xFF, 0xD8, 0xFF, 0xE0] + Array(repeating: 0x55, count: 5000))
        let bad = try #require(try await agent.reached("bad.jpg", .done).key)
        try agent.drop("good.png", NumberedPicture(3).png)
        let good = try #require(try await agent.reached("good.png", .done) { $0.width != nil }.key)
        try await Poll.until("a thumbnail") { thumbnail(good, of: agent) != nil }
        #expect(thumbnail(bad, of: agent) == nil)
        #expect(try agent.sidecar("bad.jpg")?.width == nil)
    }

    @Test("without the picture worker, all files are uploaded, and the log says so once")
    func withoutWorker() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, environment: ["OUTBOX_MEDIA": "/no/such/program"])
        try await agent.start()
        for name in ["a.png", "b.png"] {
            try agent.drop(name, NumberedPicture(name == "a.png" ? 1 : 2).png)
            #expect(try await agent.reached(name, .done).width == nil)
        }
        try await agent.hasSaid("/no/such/program")
        #expect(agent.said("/no/such/program").count == 1)
        #expect(!FileManager.default.fileExists(atPath: "\(agent.state)/thumbnails/\(server.finished[0]).jpg"))
    }

    @Test("a missing thumbnail is made after a kill and restart")
    func restart() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, environment: ["OUTBOX_MEDIA": "/no/such/program"])
        try await agent.start()
        let picture = NumberedPicture(4)
        try agent.drop("a.png", picture.png)
        let key = try #require(try await agent.reached("a.png", .done).key)
        try await agent.kill()
        agent.environment["OUTBOX_MEDIA"] = nil
        try await agent.start()
        try await Poll.until("a thumbnail") { thumbnail(key, of: agent) != nil }
        try await agent.reached("a.png", .done) { $0.width == picture.width }
        #expect(server.count(.preLoad) == 1)
    }

    @Test("media.thumbnails = false makes none, and none outlives the last file with its content")
    func gone() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.drop("a.png", NumberedPicture(5).png)
        let key = try #require(try await agent.reached("a.png", .done).key)
        try await Poll.until("a thumbnail") { thumbnail(key, of: agent) != nil }
        agent.remove("a.png")
        try await Poll.until("no thumbnail") { thumbnail(key, of: agent) == nil }
        try await agent.stop()
        try agent.configure(["media.thumbnails": false])
        try await agent.start()
        try agent.drop("b.png", NumberedPicture(6).png)
        let other = try await agent.reached("b.png", .done) { $0.width != nil }
        #expect(thumbnail(try #require(other.key), of: agent) == nil)
    }
}
