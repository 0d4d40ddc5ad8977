import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("Events over the control socket", .agents)
struct EventsTests {
    /// Follows the events of an agent from an id on, or from the first that comes; ends with the first text that holds
    /// `part`. Reading blocks, so it has a thread of its own.
    private func follow(_ agent: Agent, after id: String? = nil, until part: String) -> Task<String, Never> {
        let socket = agent.socket
        let headers = id.map { ["Last-Event-ID: \($0)"] } ?? []
        return Task {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    let reply = ControlSocket.ask(
                        "GET", "/v1/events", headers: headers, socket: socket, isEnough: { $0.contains(part) })
                    continuation.resume(returning: reply.map { String(decoding: $0.body, as: UTF8.self) } ?? "")
                }
            }
        }
    }

    /// The ids of the events in a text, in order.
    private func ids(in text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("id: ") }.map { String($0.dropFirst(4)) }
    }

    @Test("a file is followed until it is done, and a reader that comes back misses nothing")
    func followAndResume() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        // From before the first event of this run on: whatever happens is told.
        let opening = await follow(agent, after: "earlier-1", until: "event: reset").value
        let first = try #require(ids(in: opening).first)
        try agent.drop("a.jpg", .jpeg, size: 700_000)
        try await agent.reached("a.jpg", .done)

        let all = await follow(agent, after: first, until: "\"state\":\"done\"").value
        #expect(all.contains("event: state\n"), "\(all)")
        #expect(all.contains("\"path\":\"a.jpg\""))
        #expect(all.contains("\"state\":\"done\""))

        let second = try #require(ids(in: all).first)
        let rest = await follow(agent, after: second, until: "\"state\":\"done\"").value
        #expect(ids(in: rest) == Array(ids(in: all).dropFirst()))
    }

    @Test("ids of another run begin anew")
    func otherRun() async throws {
        let agent = try Agent(remote: "http://127.0.0.1:1")
        try await agent.start()
        let before = try #require(ids(in: await follow(agent, after: "earlier-1", until: "event: reset").value).first)
        try await agent.kill()
        try await agent.start()
        let text = await follow(agent, after: before, until: "event: reset").value
        #expect(text.contains("event: reset\n"), "\(text)")
        #expect(ids(in: text).first != before)
    }

    @Test("an open stream does not hold up the agent's end")
    func shutdown() async throws {
        let agent = try Agent(remote: "http://127.0.0.1:1")
        try await agent.start()
        let reader = follow(agent, until: "this never comes")
        try await Poll.until("the stream", lastState: { agent.log }) {
            ControlSocket.get("/metrics", socket: agent.socket).map { $0.status == 200 } ?? false
        }
        #expect(try await agent.stop(timeout: .seconds(20)) == .exited(0))
        _ = await reader.value
    }
}
