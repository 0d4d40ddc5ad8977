import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("One content is one upload", .agents)
struct DuplicateTests {
    @Test("two paths dropped together: both done, one of them deduplicated")
    func together() async throws {
        let server = try FaultServer(uploadDelay: .milliseconds(20))
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let key = try agent.drop("one.jpg", .jpeg, size: 3_000_000, seed: 1)
        try agent.drop("copy/two.jpg", .jpeg, size: 3_000_000, seed: 1)

        let sidecars = [try await agent.reached("one.jpg", .done), try await agent.reached("copy/two.jpg", .done)]

        #expect(sidecars.map(\.key) == [key, key])
        #expect(sidecars.filter(\.deduplicated).count == 1)
        expectClean(server, finished: [key])
        #expect(server.store.repeated == 0)
    }

    @Test("content confirmed earlier is done without a byte sent")
    func confirmedEarlier() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let key = try agent.drop("one.jpg", .jpeg, size: 700_000, seed: 2)
        try await agent.reached("one.jpg", .done)
        let before = server.count(.upload)

        try agent.drop("again.jpg", .jpeg, size: 700_000, seed: 2)

        #expect(try await agent.reached("again.jpg", .done).deduplicated)
        #expect(server.count(.upload) == before)
        expectClean(server, finished: [key])
    }

    @Test("content confirmed before a restart is not sent again, even if the first file is gone")
    func confirmedBeforeRestart() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let key = try agent.drop("one.jpg", .jpeg, size: 700_000, seed: 3)
        try await agent.reached("one.jpg", .done)
        agent.remove("one.jpg")
        try await Poll.until("the sidecar to go") { try agent.sidecar("one.jpg") == nil }
        try await agent.kill()

        try await agent.start()
        try agent.drop("again.jpg", .jpeg, size: 700_000, seed: 3)

        #expect(try await agent.reached("again.jpg", .done).deduplicated)
        expectClean(server, finished: [key])
    }

    @Test("content that the server already has is done without a byte sent")
    func existing() async throws {
        let server = try FaultServer(tellsExisting: true)
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let bytes = SampleMedia.jpeg.bytes(size: 700_000, seed: 4)
        let key = Digest.md5(bytes)
        server.change { $0.addFinished(md5: key, size: bytes.count) }

        try agent.drop("known.jpg", bytes)

        #expect(try await agent.reached("known.jpg", .done).deduplicated)
        #expect(server.count(.upload) == 0)
        expectClean(server, finished: [key])
    }

    @Test("removing one path does not stop the upload for the other")
    func removeOne() async throws {
        let server = try FaultServer(uploadDelay: .milliseconds(100), faults: FaultServer.keepsAssembling)
        let agent = try Agent(remote: server.url, ["upload.fragments_in_flight": 1])
        try await agent.start()
        let key = try agent.drop("one.jpg", .jpeg, size: 40 * 524_288, seed: 5)
        try agent.drop("two.jpg", .jpeg, size: 40 * 524_288, seed: 5)
        try await Poll.until("fragments on their way", lastState: { agent.log }) { server.count(.upload) > 1 }
        // From now on, the second path waits for the upload as well.
        try await agent.reached("two.jpg", .queued, .uploading, .verifying)

        agent.remove("one.jpg")

        try await agent.reached("one.jpg", .cancelled)
        server.letFinish()
        try await agent.reached("two.jpg", .done)
        expectClean(server, finished: [key])
        #expect(server.count(.delete) == 0)
    }

    @Test("another remote is another account, and gets the content again")
    func anotherRemote() async throws {
        let first = try FaultServer()
        let second = try FaultServer()
        let agent = try Agent(remote: first.url)
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 4000)
        try await agent.reached("a.jpg", .done)
        try await agent.stop()

        try agent.configure(["remote.url": .string(second.url)])
        try await agent.start()

        try await Poll.until("the content on the second server", lastState: { agent.log }) {
            second.finished == [key]
        }
    }
}
