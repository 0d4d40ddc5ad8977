import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("A dropped file arrives", .agents)
struct StraightWayTests {
    @Test(
        "of any size and type",
        arguments: [
            (SampleMedia.jpeg, 104_857), (.png, 524_288), (.mp4, 524_287), (.jpeg, 524_289), (.mp4, 20_000_000),
        ])
    func arrives(media: SampleMedia, size: Int) async throws {
        let receiver = try await Receiver.started()
        let agent = try Agent(remote: receiver.url)
        try await agent.start()
        let name = "sample.\(media.fileExtension)"
        let key = try agent.drop(name, media, size: size)

        let sidecar = try await agent.reached(name, .done)

        #expect(sidecar.key == key)
        #expect(sidecar.size == size)
        #expect(sidecar.type == media.mediaType)
        #expect(sidecar.kind == (media == .mp4 ? "video" : "image"))
        #expect(sidecar.fragments?.total == (size + 524_287) / 524_288)
        #expect(sidecar.fragments?.finished == sidecar.fragments?.total)
        #expect(try receiver.objects() == [key])
        #expect(try Array(receiver.files().values) == [key])
    }

    @Test("in fragments as contract 4 specifies", arguments: [1, 524_287, 524_288, 524_289, 3_000_000])
    func everyFragment(payload: Int) async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let size = max(payload, 100)
        let key = try agent.drop("a.mp4", .mp4, size: size)

        try await agent.reached("a.mp4", .done)

        expectClean(server, finished: [key])
        let fragments = (size + 524_287) / 524_288
        #expect(server.store.arrivals[key]?.keys.sorted() == Array(1...fragments))
        #expect(server.store.repeated == 0)
    }

    @Test("from new subdirectories")
    func subdirectories() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let names = ["a/one.jpg", "a/b/two.jpg", "a/b/c/d/e/three.jpg"]
        let keys = try names.map { try agent.drop($0, .jpeg, size: 2000) }

        for name in names {
            let sidecar = try await agent.reached(name, .done)
            #expect(sidecar.path == name)
        }
        expectClean(server, finished: keys)
    }

    @Test("with a whole tree moved into the outbox")
    func movedTree() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let elsewhere = agent.directory.path("elsewhere")
        var keys: [String] = []
        for index in 0..<6 {
            let folder = "\(elsewhere)/trip/day\(index % 2)"
            try Files.makeDirectory(folder)
            let bytes = SampleMedia.png.bytes(size: 3000, seed: UInt64(index))
            try Files.write(bytes, to: "\(folder)/\(index).png")
            keys.append(Digest.md5(bytes))
        }

        try Files.rename("\(elsewhere)/trip", to: agent.path("trip"))

        for index in 0..<6 { try await agent.reached("trip/day\(index % 2)/\(index).png", .done) }
        expectClean(server, finished: keys)
    }

    @Test("when it is hard-linked into the outbox, without an event for a closed file")
    func hardLink() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let outside = agent.directory.path("outside.jpg")
        let bytes = SampleMedia.jpeg.bytes(size: 700_000, seed: 7)
        try Files.write(bytes, to: outside)

        try FileManager.default.linkItem(atPath: outside, toPath: agent.path("linked.jpg"))

        try await agent.reached("linked.jpg", .done)
        expectClean(server, finished: [Digest.md5(bytes)])
    }

    @Test("when it is renamed into the outbox")
    func renamedIn() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let outside = agent.directory.path("outside.jpg")
        let bytes = SampleMedia.jpeg.bytes(size: 5000, seed: 8)
        try Files.write(bytes, to: outside)

        try Files.rename(outside, to: agent.path("moved.jpg"))

        try await agent.reached("moved.jpg", .done)
        expectClean(server, finished: [Digest.md5(bytes)])
    }

    @Test("when it was dropped before the agent's first start")
    func beforeStart() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        let keys = try [agent.drop("early.jpg", .jpeg, size: 4000), agent.drop("deep/er/early.png", .png, size: 4000)]

        try await agent.start()

        try await agent.reached("early.jpg", .done)
        try await agent.reached("deep/er/early.png", .done)
        expectClean(server, finished: keys)
    }

    @Test("when it was dropped while the agent was down, and earlier files stay done")
    func whileDown() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let first = try agent.drop("first.jpg", .jpeg, size: 4000)
        try await agent.reached("first.jpg", .done)
        try await agent.stop()
        let second = try agent.drop("second.jpg", .jpeg, size: 4000)

        try await agent.start()

        try await agent.reached("second.jpg", .done)
        #expect(try agent.sidecar("first.jpg")?.state == .done)
        expectClean(server, finished: [first, second])
        #expect(server.store.repeated == 0)
    }

    @Test("from an outbox that is itself a symlink")
    func symlinkedOutbox() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["outbox": "link"])
        try FileManager.default.createSymbolicLink(
            atPath: agent.directory.path("link"), withDestinationPath: agent.outbox)
        try await agent.start()

        let key = try agent.drop("a.jpg", .jpeg, size: 4000)

        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
    }

    @Test("in a burst of 200 files")
    func burst() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let keys = try (0..<200).map { try agent.drop("burst/\($0).jpg", .jpeg, size: 2000 + $0, seed: UInt64($0)) }

        for index in 0..<200 { try await agent.reached("burst/\(index).jpg", .done) }
        expectClean(server, finished: keys)
    }
}
