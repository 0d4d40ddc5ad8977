import EndToEndSupport
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite("Events over the control socket", .agents)
struct EventsTests {
    /// Follows the events of an agent from an id on, or from the first event received. Ends with the first event that
    /// contains `part`. Reading blocks, so the reader has a thread of its own.
    ///
    /// - Parameter heard: Called after each received piece.
    private func follow(
        _ agent: Agent, after id: String? = nil, until part: String, heard: @escaping @Sendable () -> Void = {}
    ) -> Task<String, Never> {
        let socket = agent.socket
        let headers = id.map { ["Last-Event-ID: \($0)"] } ?? []
        return Task {
            await withCheckedContinuation { continuation in
                Thread.detachNewThread {
                    let reply = ControlSocket.ask(
                        "GET", "/v1/events", headers: headers, socket: socket,
                        isEnough: {
                            heard()
                            return Self.end(of: part, in: $0) != nil
                        })
                    let text = reply.map { String(decoding: $0.body, as: UTF8.self) } ?? ""
                    // Cut off later events in the same piece.
                    continuation.resume(returning: Self.end(of: part, in: text).map { String(text[..<$0]) } ?? text)
                }
            }
        }
    }

    /// Returns the end of the first event that contains `part`, or nil if the event is incomplete.
    private static func end(of part: String, in text: String) -> String.Index? {
        guard let found = text.range(of: part) else { return nil }
        return text.range(of: "\n\n", range: found.upperBound..<text.endIndex)?.upperBound
    }

    /// Returns the ids of the events in a text, in order.
    private func ids(in text: String) -> [String] {
        text.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("id: ") }.map { String($0.dropFirst(4)) }
    }

    @Test("a reader that comes back gets each outcome since, with the id that the history has, also after a kill")
    func followAndResume() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let opening = await follow(agent, after: "earlier-1", until: "event: reset").value
        let first = try #require(ids(in: opening).first)
        for name in ["a.jpg", "b.jpg"] {
            try agent.drop(name, .jpeg, size: 700_000)
            try await agent.reached(name, .done)
        }
        let known = try #require(ids(in: await follow(agent, after: first, until: "\"path\":\"a.jpg\"").value).last)
        try await agent.kill()
        try await agent.start()

        let rest = await follow(agent, after: known, until: "\"path\":\"b.jpg\"").value
        #expect(!rest.contains("event: reset") && !rest.contains("a.jpg"), "\(rest)")
        #expect(rest.contains("event: state\n") && rest.contains("\"state\":\"done\""))
        let history = try await agent.command("history", "--json").standardOutput.split(separator: "\n")
            .map { try JSONDecoder().decode(Outcome.self, from: Data($0.utf8)) }
        #expect(history.map(\.path) == ["b.jpg", "a.jpg"])
        #expect(history.map(\.id) == [ids(in: rest).last, known])
    }

    private struct Outcome: Decodable {
        let id: String
        let path: String
    }

    @Test("an open stream does not delay the agent's end")
    func shutdown() async throws {
        let agent = try Agent(remote: "http://127.0.0.1:1")
        try await agent.start()
        let isOpen = Flag()
        let reader = follow(agent, after: "earlier-1", until: "this never comes") { isOpen.set() }
        try await Poll.until("the stream", lastState: { agent.log }) { isOpen.isSet }
        #expect(try await agent.stop(timeout: .seconds(60)) == .exited(0))
        _ = await reader.value
    }
}

/// A flag that one thread sets for another.
private final class Flag: Sendable {
    private let state = Mutex(false)

    var isSet: Bool { state.withLock { $0 } }
    func set() { state.withLock { $0 = true } }
}
