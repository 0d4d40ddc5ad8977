import EndToEndSupport
import TestSupport
import Testing

@Suite("A proxy that refuses one file", .agents)
struct RefusedBodyTests {
    @Test("with a page lets the others go on, and is the one problem, with its setting", arguments: [413, 403])
    func page(status: Int) async throws {
        let server = try FaultServer(takesGroups: true, token: "sesame")
        let agent = try Agent(remote: server.url, environment: ["OUTBOX_TOKEN": "sesame"])
        let bytes = SampleMedia.jpeg.bytes(size: 1_200_000, seed: 1)
        server.refuse(Refusal(of: Digest.md5(bytes), at: "upload", .page(status)))
        try await agent.start()
        try agent.drop("bad.jpg", bytes)
        for index in 0..<8 { try agent.drop("\(index).jpg", .jpeg, size: 100_000 + index) }
        for index in 0..<8 { try await agent.reached("\(index).jpg", .done) }
        let setting = status == 413 ? "client_max_body_size" : "ModSecurity"
        try await Poll.until("one problem", lastState: { "\(agent.problems)" }) {
            Set(agent.problems.keys) == ["refused"] && agent.problems["refused"]?.contains(setting) == true
        }
        // Between its pauses, the file is tried again.
        try await Poll.until("the file to wait", lastState: { "\(String(describing: try? agent.sidecar("bad.jpg")))" })
        {
            let waiting = try agent.sidecar("bad.jpg")
            return waiting?.state == .waiting
                && waiting?.error?.code == (status == 413 ? "too_large_for_proxy" : "bad_reply")
        }
        #expect(agent.program?.standardError.contains("outbox login") == false)
        server.refuse(nil)
        #expect(try await agent.command("retry", "bad.jpg").code == 0)
        try await agent.reached("bad.jpg", .done)
        try await Poll.until("no problem", lastState: { "\(agent.problems)" }) { agent.problems.isEmpty }
    }
}
