import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("Metrics over the control socket", .agents)
struct MetricsTests {
    /// Returns the value of a metric with exactly these labels, as written.
    private func value(_ name: String, of agent: Agent) -> Double? {
        guard let reply = ControlSocket.get("/metrics", socket: agent.socket), reply.status == 200 else { return nil }
        let lines = String(decoding: reply.body, as: UTF8.self).split(whereSeparator: \.isNewline)
        return lines.first { $0.hasPrefix(name + " ") }?.split(separator: " ").last.flatMap { Double($0) }
    }

    @Test("uploads are counted")
    func counted() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 1_200_000)
        try agent.drop("words.jpg", Array("words".utf8))
        try await agent.reached("a.jpg", .done)
        try await agent.reached("words.jpg", .rejected)

        #expect(value("outbox_files{state=\"done\"}", of: agent) == 1)
        #expect(value("outbox_files{state=\"rejected\"}", of: agent) == 1)
        #expect(value("outbox_upload_acknowledged_bytes_total", of: agent) == 1_200_000)
        #expect(value("outbox_fragments_acknowledged_total", of: agent) == 3)
        #expect(value("outbox_uploads_done_total", of: agent) == 1)
        #expect((value("outbox_hashed_bytes_total", of: agent) ?? 0) >= 1_200_000)
        #expect((value("outbox_resident_memory_bytes", of: agent) ?? 0) > 1_000_000)
    }

    @Test("failures and retries are counted")
    func failures() async throws {
        let server = try FaultServer(faults: { endpoint, number in
            endpoint == .upload && number == 1 ? .status(503) : nil
        })
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .done)

        #expect(value("outbox_fragments_failed_total{class=\"temporary\"}", of: agent) == 1)
        #expect((value("outbox_upload_retries_total", of: agent) ?? 0) >= 1)
        #expect(value("outbox_fragments_sent_total", of: agent) == 2)
    }

    @Test("outbox_paused shows pause --all")
    func paused() async throws {
        let agent = try Agent(remote: "http://127.0.0.1:1")
        try await agent.start()
        #expect(value("outbox_paused", of: agent) == 0)
        #expect(try await agent.command("pause", "--all").code == 0)
        #expect(value("outbox_paused", of: agent) == 1)
    }
}
