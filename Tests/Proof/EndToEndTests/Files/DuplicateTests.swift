import EndToEndSupport
import Foundation
import TestSupport
import Testing

/// The trial R16 drops many paths of few contents, before the start, while the agent sends, and afterwards.
@Suite("One content is one upload", .agents)
struct DuplicateTests {
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
