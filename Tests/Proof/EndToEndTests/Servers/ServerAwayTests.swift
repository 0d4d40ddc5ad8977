import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("An unreachable server", .agents)
struct ServerAwayTests {
    @Test("makes a file wait with a reason and a time, until the server starts")
    func comesLater() async throws {
        let receiver = try await Receiver.started()
        try await receiver.kill()
        let agent = try Agent(remote: receiver.url)
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 700_000)

        let waiting = try await agent.reached("a.jpg", .waiting)
        #expect(Sidecar.date(waiting.next_attempt_at) != nil)
        #expect(waiting.error?.retryable == true)
        #expect(waiting.error?.code.isEmpty == false)
        #expect(waiting.attempts >= 1)

        try await receiver.start()
        let done = try await agent.reached("a.jpg", .done)
        #expect(done.error == nil)
        #expect(done.next_attempt_at == nil)
        #expect(try receiver.objects() == [key])
    }

    @Test("makes later files wait too, across a restart of the agent")
    func overRestart() async throws {
        let receiver = try await Receiver.started()
        try await receiver.kill()
        let agent = try Agent(remote: receiver.url)
        try await agent.start()
        var keys = [try agent.drop("a.jpg", .jpeg, size: 2000)]
        try await agent.reached("a.jpg", .waiting)
        try await agent.kill()
        keys.append(try agent.drop("b.jpg", .jpeg, size: 2000))
        try await agent.start()
        keys.append(try agent.drop("c.jpg", .jpeg, size: 2000))
        try await agent.reached("c.jpg", .waiting)

        try await receiver.start()

        for name in ["a.jpg", "b.jpg", "c.jpg"] { try await agent.reached(name, .done) }
        #expect(try receiver.objects() == keys.sorted())
    }

    @Test("whose name does not resolve makes a file wait too")
    func unresolvable() async throws {
        let agent = try Agent(remote: "http://no-such-host.invalid:8787")
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 2000)
        #expect(try await agent.reached("a.jpg", .waiting).error?.retryable == true)
    }

    @Test("keeps fragments across its own kill, and stores the whole file")
    func receiverKeepsFragments() async throws {
        let receiver = try await Receiver.started()
        let agent = try Agent(remote: receiver.url, ["upload.bandwidth_limit": "1MiB"])
        try await agent.start()
        // About 15 s at that pace.
        let key = try agent.drop("a.jpg", .jpeg, size: 16_000_000)
        let before = try await agent.reached("a.jpg", .uploading, where: { ($0.fragments?.finished ?? 0) >= 8 })

        try await receiver.kill()
        try await receiver.start()

        let next = try await agent.reached("a.jpg", .uploading, .verifying, .waiting, .done)
        #expect((next.fragments?.finished ?? 0) >= (before.fragments?.finished ?? 0), "no progress is lost")
        try await agent.reached("a.jpg", .done)
        #expect(try receiver.objects() == [key])
    }
}
