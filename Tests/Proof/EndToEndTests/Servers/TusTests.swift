import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("A tus server", .agents)
struct TusTests {
    /// - Returns: an agent that waits as long as the server wants.
    private func agent(_ server: TusServer, _ settings: Settings = [:]) throws -> Agent {
        try Agent(
            remote: server.url, ["remote.protocol": "tus", "upload.stall_timeout": "1h"].merging(settings) { $1 })
    }

    /// Returns the only upload on the server and its path.
    private func onlyUpload(_ server: TusServer) throws -> (path: String, upload: TusServer.Upload) {
        let uploads = server.uploads
        guard let first = uploads.first, uploads.count == 1 else { throw Surprise("\(uploads.count) uploads") }
        return (first.key, first.value)
    }

    private func awaitBytes(_ count: Int, _ server: TusServer, _ agent: Agent) async throws {
        try await Poll.until("\(count) bytes on the server", lastState: { agent.log }) {
            server.uploads.values.contains { $0.bytes.count >= count }
        }
    }

    @Test("gets a file, and the sidecar names protocol and upload")
    func arrival() async throws {
        let server = try TusServer()
        let agent = try agent(server)
        try await agent.start()
        let key = try agent.drop("trip/a b.jpg", .jpeg, size: 700_000)
        let sidecar = try await agent.reached("trip/a b.jpg", .done)
        let (path, upload) = try onlyUpload(server)
        #expect(Digest.md5(upload.bytes) == key)
        #expect(sidecar.remote?.protocol == "tus")
        #expect(sidecar.remote?.id == server.url(of: path))
        #expect(sidecar.fragments?.total == 2 && sidecar.fragments?.finished == 2 && sidecar.progress == 1)
        #expect(upload.metadata["filename"] == "a b.jpg" && upload.metadata["path"] == "trip/a b.jpg")
        #expect(upload.metadata["md5"] == key && upload.metadata["filetype"] == "image/jpeg")
        #expect(server.records.map(\.method) == ["OPTIONS", "POST", "PATCH"], "one PATCH, and no question after it")
    }

    @Test("gets the rest after a kill of the agent in the middle of a PATCH, and progress grows during one PATCH")
    func kill() async throws {
        let server = try TusServer(takingAtMost: 8 << 20)
        let agent = try agent(server)
        try await agent.start()
        let key = try agent.drop("film.mp4", .mp4, size: 64 << 20)
        try await awaitBytes(8 << 20, server, agent)
        try await agent.reached("film.mp4", .uploading) { $0.progress > 0.1 && ($0.fragments?.finished ?? 0) > 12 }
        #expect(server.records.filter { $0.method == "PATCH" }.count == 1)
        try await agent.kill()
        try await agent.start()
        server.take(atMost: .max)
        try await agent.reached("film.mp4", .done)
        let (path, upload) = try onlyUpload(server)
        #expect(Digest.md5(upload.bytes) == key)
        let offsets = server.records.filter { $0.method == "PATCH" && $0.target == path }.compactMap(\.offset)
        #expect(
            offsets.first == 0 && offsets.dropFirst().allSatisfy { $0 >= 8 << 20 } && offsets.count > 1, "\(offsets)")
        #expect(server.records.filter { $0.method == "POST" }.count == 1)
    }

    @Test("loses an upload that was cancelled, and no other")
    func cancel() async throws {
        let server = try TusServer(takingAtMost: 1 << 20)
        let agent = try agent(server)
        try await agent.start()
        try agent.drop("film.mp4", .mp4, size: 24 << 20)
        try await awaitBytes(1 << 20, server, agent)
        #expect(try await agent.command("cancel", "film.mp4").code == 0)
        try await agent.reached("film.mp4", .cancelled)
        try await Poll.until("the upload to be gone", lastState: { agent.log }) { server.uploads.isEmpty }
        try agent.drop("b.jpg", .jpeg, size: 1000)
        try await agent.reached("b.jpg", .done)
    }

    @Test("gets a small file while a large one holds every slot")
    func smallFile() async throws {
        let server = try TusServer(takingAtMost: 40 << 20)
        let agent = try agent(server, ["upload.files_in_flight": 1])
        try await agent.start()
        try agent.drop("film.mp4", .mp4, size: 96 << 20)
        try await awaitBytes(40 << 20, server, agent)
        try agent.drop("small.jpg", .jpeg, size: 20_000)
        try await agent.reached("small.jpg", .done)
        #expect(try agent.sidecar("film.mp4")?.state != .done, "the large file gave way")
        server.take(atMost: .max)
        try await agent.reached("film.mp4", .done)
        #expect(server.uploads.values.filter(\.isComplete).count == 2)
    }

    @Test("is examined by doctor, which leaves nothing behind")
    func doctor() async throws {
        let server = try TusServer()
        let agent = try agent(server)
        let findings = try await agent.command("doctor").standardOutput
        #expect(findings.contains("speaks tus 1.0.0 and offers creation, expiration, termination"), "\(findings)")
        #expect(server.uploads.isEmpty)
    }

    @Test("takes no profile picture; the drop fails and says so")
    func portrait() async throws {
        let server = try TusServer()
        let agent = try agent(server)
        try await agent.start()
        try agent.drop("portrait/me.png", NumberedPicture(1).png)
        let sidecar = try await agent.reached("portrait/me.png", .failed)
        #expect(sidecar.error?.code == "not_supported")
    }
}
