import Synchronization
import Testing
import Transport
import UploadCore

@testable import Remotes

@Suite("tus: creation with upload")
struct TusCreationTests: TusSteps {
    private func server(_ change: (inout FakeTusServer.Manner) -> Void = { _ in }) -> FakeTusServer {
        FakeTusServer(createsWithUpload: true) {
            $0.offer["Tus-Extension"] = "creation,creation-with-upload,termination"
            change(&$0)
        }
    }

    private func methods(_ server: FakeTusServer) -> [String] { server.log.map(\.method) }

    /// Uploads a content, and returns the names that its confirmation has.
    @discardableResult
    private func upload(_ content: TestContent, _ server: FakeTusServer) async throws -> RemoteObject {
        let handle = try await register(content, server)
        let receipt = try #require(try await server.remote.send(content.fragment(0, id: handle)))
        let upload = content.upload(handle, receipts: [0: receipt])
        #expect(try await server.remote.resume(upload) == .unasked)
        guard case .confirmed(let object) = try #require(await server.remote.finish([upload]).first).get() else {
            throw RemoteConformance.Unexpected("not confirmed")
        }
        return object
    }

    @Test("a small content takes one request, and is confirmed by its URL")
    func oneRequest() async throws {
        let server = server()
        let content = try content(size: 70_000)
        let object = try await upload(content, server)
        #expect(methods(server) == ["OPTIONS", "POST"])
        #expect(server.holds(content))
        #expect(object.id == FakeTusServer.url + "1")
        #expect(server.requests("POST").first?.field("Content-Type") == "application/offset+octet-stream")
        let proof = await server.remote.prove([content.upload(RemoteHandle(id: object.id ?? ""))])
        #expect(try proof.first?.get() == .confirmed(object))
    }

    @Test(
        "a larger or empty content, and a server without the extension, take the usual requests",
        arguments: [0, 600_000])
    func usual(size: Int) async throws {
        let server = server()
        _ = try await register(try content(size: size), server)
        #expect(server.requests("POST").first?.length == 0 && server.requests("POST").count == 1)
        let plain = FakeTusServer(createsWithUpload: true)
        try await upload(try content(size: 70_000), plain)
        #expect(methods(plain) == ["OPTIONS", "POST", "PATCH"])
    }

    @Test(
        "what the server leaves of the body is sent by a PATCH",
        arguments: [(true, ["PATCH"]), (false, ["HEAD", "PATCH"])])
    func rest(statesOffset: Bool, requests: [String]) async throws {
        let server = server {
            $0.keptOfCreation = 1000
            $0.statesOffsetOfCreation = statesOffset
        }
        let content = try content(size: 70_000)
        try await upload(content, server)
        #expect(methods(server) == ["OPTIONS", "POST"] + requests)
        #expect(server.holds(content))
    }

    @Test("a server that refuses the body gets the usual requests from then on")
    func refused() async throws {
        let server = server { $0.longestCreation = 60_000 }
        let content = try content(size: 70_000)
        try await upload(content, server)
        #expect(methods(server) == ["OPTIONS", "POST", "POST", "PATCH"])
        #expect(server.holds(content))
        try await upload(try TestContent(2, size: 100), server)
        #expect(server.requests("POST").last?.length == 0)
    }

    @Test("after a lost reply the content is registered without its bytes: the server keeps two copies at most")
    func lostReply() async throws {
        let server = server()
        let content = try content(size: 70_000)
        let handle = try await register(content, server)
        server.loseNextReply()
        #expect(await failureOfSend(content, handle, server) != nil)
        #expect(try await server.remote.resume(content.upload(handle)) == .unasked)
        let second = try await register(content, server)
        #expect(second.id == FakeTusServer.url + "2")
        #expect(server.requests("POST").map(\.length) == [70_000, 0])
        #expect(await failureOfSend(content, second, server) == nil)
        #expect(server.network.state.withLock { $0.uploads.values.count { $0.bytes == content.bytes } } == 2)
        #expect(try await register(try TestContent(3, size: 100), server).id == "")
    }

    @Test("of two registrations without a request, the first one asked what the server offers")
    func signsOfLife() async throws {
        let server = server()
        let first = try await server.remote.register([try content(size: 100).description])[0].get()
        #expect(first == .registered(RemoteHandle(id: ""), .asRecorded))
        let second = try await server.remote.register([try TestContent(2, size: 100).description])[0].get()
        #expect(second == .registered(RemoteHandle(id: ""), .unasked))
    }

    @Test(
        "a server that refuses the body in other words gets an empty creation at once", arguments: [400, 413, 415, 501])
    func refusedBody(status: Int) async throws {
        let server = server()
        server.plan("POST", status)
        let content = try content(size: 70_000)
        try await upload(content, server)
        #expect(server.requests("POST").map(\.length) == [70_000, 0])
        #expect(server.holds(content))
        try await upload(try TestContent(2, size: 100), server)
        #expect(server.requests("POST").last?.length == 0)
    }

    @Test("a server that refuses the file as well fails it, and gets the next file in one request")
    func refusedFile() async throws {
        let server = server()
        server.plan("POST", 400)
        server.plan("POST", 400)
        let content = try content(size: 70_000)
        let handle = try await register(content, server)
        #expect(kind(await failureOfSend(content, handle, server)) == .permanent)
        try await upload(try TestContent(2, size: 100), server)
        #expect(server.requests("POST").last?.length == 100)
    }

    @Test("a creation without an offset in its reply is asked for, and the last one with a body")
    func noOffset() async throws {
        let server = server { $0.statesOffsetOfCreation = false }
        let content = try content(size: 70_000)
        try await upload(content, server)
        #expect(methods(server) == ["OPTIONS", "POST", "HEAD"] && server.holds(content))
        try await upload(try TestContent(2, size: 100), server)
        #expect(server.requests("POST").last?.length == 0)
    }

    @Test("changed bytes never leave, and another server's URL is refused")
    func refusals() async throws {
        let server = server()
        let content = try content(size: 70_000)
        let handle = try await register(content, server)
        try content.flip(at: 69_000)
        guard case .source = await failureOfSend(content, handle, server) else {
            throw RemoteConformance.Unexpected("changed bytes were sent")
        }
        #expect(server.openUploads == 0 && !server.holds(content))
        let foreign = self.server { $0.place = "https://other.example/files/" }
        let other = try TestContent(2, size: 100)
        let place = try await register(other, foreign)
        #expect(kind(await failureOfSend(other, place, foreign)) == .lasting)
        try await foreign.remote.remove([place])
        #expect(foreign.requests("DELETE").isEmpty)
    }

    private func failureOfSend(
        _ content: TestContent, _ handle: RemoteHandle, _ server: FakeTusServer
    ) async -> RemoteFailure? {
        do {
            _ = try await server.remote.send(content.fragment(0, id: handle))
            return nil
        } catch {
            return error as? RemoteFailure ?? .cancelled
        }
    }
}
