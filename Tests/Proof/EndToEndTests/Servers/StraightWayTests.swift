import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("Dropped files arrive", .agents)
struct StraightWayTests {
    @Test("of any size and type")
    func arrive() async throws {
        let receiver = try await Receiver.started()
        let agent = try Agent(remote: receiver.url)
        try await agent.start()
        let samples: [(media: SampleMedia, size: Int)] = [
            (.jpeg, 104_857), (.png, 524_288), (.mp4, 524_287), (.jpeg, 524_289), (.mp4, 20_000_000),
        ]
        var keys: [String] = []
        for (media, size) in samples {
            keys.append(try agent.drop("\(size).\(media.fileExtension)", media, size: size))
        }

        for ((media, size), key) in zip(samples, keys) {
            let sidecar = try await agent.reached("\(size).\(media.fileExtension)", .done)
            #expect(sidecar.key == key)
            #expect(sidecar.size == size)
            #expect(sidecar.type == media.mediaType)
            #expect(sidecar.kind == (media == .mp4 ? "video" : "image"))
            #expect(sidecar.fragments?.total == (size + 524_287) / 524_288)
            #expect(sidecar.fragments?.finished == sidecar.fragments?.total)
        }

        #expect(try receiver.objects() == keys.sorted())
        #expect(try receiver.files().values.sorted() == keys.sorted())
    }

    @Test("in fragments as contract 4 specifies")
    func everyFragment() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let sizes = [100, 524_287, 524_288, 524_289, 3_000_000]
        let keys = try sizes.map { try agent.drop("\($0).mp4", .mp4, size: $0) }

        for size in sizes { try await agent.reached("\(size).mp4", .done) }

        expectClean(server, finished: keys)
        for (size, key) in zip(sizes, keys) {
            #expect(server.store.arrivals[key]?.keys.sorted() == Array(1...(size + 524_287) / 524_288))
        }
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
}
