import EndToEndSupport
import TestSupport
import Testing

@Suite("Metrics over the control socket", .agents)
struct MetricsTests {
    @Test("uploads are counted")
    func counted() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try agent.drop("a.jpg", .jpeg, size: 1_200_000)
        try agent.drop("words.jpg", Array("words".utf8))
        try await agent.reached("a.jpg", .done)
        try await agent.reached("words.jpg", .rejected)

        #expect(agent.metric("outbox_files{state=\"done\"}") == 1)
        #expect(agent.metric("outbox_files{state=\"rejected\"}") == 1)
        #expect(agent.metric("outbox_upload_acknowledged_bytes_total") == 1_200_000)
        #expect(agent.metric("outbox_fragments_acknowledged_total") == 3)
        #expect(agent.metric("outbox_uploads_done_total") == 1)
        #expect((agent.metric("outbox_hashed_bytes_total") ?? 0) >= 1_200_000)
        #expect((agent.metric("outbox_resident_memory_bytes") ?? 0) > 1_000_000)
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

        #expect(agent.metric("outbox_fragments_failed_total{class=\"temporary\"}") == 1)
        #expect((agent.metric("outbox_upload_retries_total") ?? 0) >= 1)
        #expect(agent.metric("outbox_fragments_sent_total") == 2)
    }

    @Test("outbox_paused shows pause --all")
    func paused() async throws {
        let agent = try Agent(remote: "http://127.0.0.1:1")
        try await agent.start()
        #expect(agent.metric("outbox_paused") == 0)
        #expect(try await agent.command("pause", "--all").code == 0)
        #expect(agent.metric("outbox_paused") == 1)
    }
}
