import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("A captive portal", .agents)
struct CaptivePortalTests {
    @Test("makes files wait, and is logged once by its name")
    func waiting() async throws {
        let server = try FaultServer(faults: { _, _ in .html })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 700_000)
        try agent.drop("b.jpg", .jpeg, size: 2000)

        let waiting = try await agent.reached("a.jpg", .waiting)
        #expect(waiting.error?.retryable == true)
        #expect(waiting.error?.message.contains("captive portal") == true, "\(String(describing: waiting.error))")
        try await Poll.until("some attempts", lastState: { agent.log }) { server.count(.preLoad) >= 4 }
        let said = try #require(agent.program).standardError.split(separator: "\n")
            .filter { $0.contains("captive portal") }
        #expect(said.count == 1, "\(said)")
        agent.remove("b.jpg")

        server.setFaults { _, _ in nil }
        try await agent.reached("a.jpg", .done)
        #expect(server.finished.contains(key))
    }

    @Test("that appears during an upload costs no acknowledged fragment")
    func inTheMiddle() async throws {
        let portals: [FaultServer.Fault] = [.html, .redirect("http://portal.invalid/login?mac=00"), .status(511)]
        let server = try FaultServer(faults: { endpoint, number in
            endpoint == .upload && (8...12).contains(number) ? portals[number % portals.count] : nil
        })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: 20 * 524_288)
        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
        #expect(server.store.repeated == 0)
    }
}
