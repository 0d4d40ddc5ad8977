import EndToEndSupport
import Foundation
import TestSupport
import Testing

/// A proxy or web server answers instead of the upload server, for instance because of a wrong scheme in remote.url.
@Suite("Another web server in the place of the upload server", .agents)
struct AnotherServerTests {
    @Test("fails no file, is asked every retry_interval, and is logged once with its own words")
    func page() async throws {
        let server = try FaultServer(faults: { _, _ in .page(400) })
        let agent = try Agent(remote: server.url, ["upload.retry_interval": "4s"])
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 700_000)

        let waiting = try await agent.reached("a.jpg", .waiting)
        #expect(waiting.error?.code == "bad_reply" && waiting.error?.retryable == true)
        let words = "400 another server's page"
        #expect(waiting.error?.message.contains(words) == true, "\(String(describing: waiting.error))")
        #expect(try await agent.problems().contains { $0.contains(words) && $0.contains("remote.url") })
        try await Poll.until("a second attempt", lastState: { agent.log }) { server.records.count >= 2 }
        let times = server.records.map(\.at)
        #expect(times[0].duration(to: times[1]) > .seconds(3.9), "straight to retry_interval")
        #expect(agent.said(words).count == 1)

        server.setFaults { _, _ in nil }
        try await agent.reached("a.jpg", .done)
        #expect(server.finished == [key])
    }
}
