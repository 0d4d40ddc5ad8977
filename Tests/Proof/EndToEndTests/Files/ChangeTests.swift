import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

/// The trial R9 changes files in all ways while the agent hashes and sends them.
@Suite("A file that changes", .agents)
struct ChangeTests {
    /// Returns a server slow enough that a file of 40 fragments takes seconds. It finishes no upload until the test
    /// allows it.
    private func slowServer() throws -> FaultServer {
        try FaultServer(uploadDelay: .milliseconds(60), faults: FaultServer.keepsAssembling)
    }
    private let oneByOne: Settings = ["upload.fragments_in_flight": 1]
    private let size = 40 * 524_288

    @Test("is not uploaded while its writer holds it open")
    func heldOpen() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let bytes = SampleMedia.jpeg.bytes(size: 900_000, seed: 1)
        let descriptor = open(agent.path("slow.jpg"), O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        let writer = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try writer.write(contentsOf: bytes.prefix(400_000))

        // A later file that is done shows that the agent had enough time.
        try agent.drop("witness.jpg", .jpeg, size: 2000)
        try await agent.reached("witness.jpg", .done)
        #expect(try [nil, .settling].contains(agent.sidecar("slow.jpg")?.state))
        #expect(server.count(.preLoad) == 1)

        try writer.write(contentsOf: bytes.dropFirst(400_000))
        try writer.close()
        #expect(try await agent.reached("slow.jpg", .done).key == Digest.md5(bytes))
        #expect(server.store.mixtures == [])
        #expect(server.finished.count == 2)
    }

    @Test("in place during its upload, with size and times restored, is never stored as a mixture")
    func patched() async throws {
        let server = try slowServer()
        let agent = try Agent(remote: server.url, oneByOne)
        try await agent.start()
        let path = agent.path("a.jpg")
        try agent.drop("a.jpg", .jpeg, size: size, seed: 1)
        try await Poll.until("fragments on their way", lastState: { agent.log }) { server.count(.upload) > 2 }

        var status = stat()
        #expect(stat(path, &status) == 0)
        try Files.patch(path, at: UInt64(size - 1000), with: Array("changed".utf8))
        let times = [status.st_atim, status.st_mtim]
        #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
        let key = try Digest.md5(file: path)

        // The agent deletes the old content's upload on the server.
        try await Poll.until("the server to be told", lastState: { agent.log }) { !server.store.deleted.isEmpty }
        server.letFinish()
        try await agent.reached("a.jpg", .done, where: { $0.key == key })
        expectClean(server, finished: [key])
    }

    @Test("only in its mode keeps its progress")
    func chmodWhileUploading() async throws {
        let server = try slowServer()
        let agent = try Agent(remote: server.url, oneByOne)
        try await agent.start()
        let key = try agent.drop("a.jpg", .jpeg, size: size, seed: 1)
        try await Poll.until("fragments on their way", lastState: { agent.log }) { server.count(.upload) > 2 }

        #expect(chmod(agent.path("a.jpg"), 0o600) == 0)
        server.letFinish()

        try await agent.reached("a.jpg", .done)
        expectClean(server, finished: [key])
        #expect(server.store.repeated <= 1)
    }
}
