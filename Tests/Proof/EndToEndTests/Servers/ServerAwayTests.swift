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

    @Test("whose name does not resolve makes a file wait too")
    func unresolvable() async throws {
        let agent = try Agent(remote: "http://no-such-host.invalid:8787")
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 2000)
        #expect(try await agent.reached("a.jpg", .waiting).error?.retryable == true)
    }
}
