import Testing
import Transport
import UploadCore

@testable import Remotes

@Suite("S3: small contents without a HEAD")
struct BlindPutTests: S3Steps {
    /// Returns a server that has as many contents as the remote sends before it knows whether the server honours
    /// `If-None-Match`.
    private func tested(
        _ quirks: FakeS3Server.Quirks = [], change: (inout S3Options) -> Void = { _ in }
    ) async throws -> FakeS3Server {
        let server = FakeS3Server(quirks, change: change)
        for number in 1...UInt64(BlindPuts.objectsBeforeTest) { try await put(try small(number), server) }
        return server
    }

    private func log(_ server: FakeS3Server, of work: () async throws -> Void) async throws -> [String] {
        let before = server.log.count
        try await work()
        return Array(server.log.dropFirst(before))
    }

    @Test("the remote sends one object twice, and then small contents without a question")
    func halvesRequests() async throws {
        let server = try await tested()
        #expect(server.log.count { $0 == "HeadObject" } == 4)
        #expect(server.log.count { $0 == "PutObject" } == 5)
        #expect(server.objects.count == 4)
        #expect(try await log(server) { try await put(try small(5), server) } == ["PutObject"])
        #expect(server.objects.count == 5)
    }

    @Test("a store that ignores the condition is asked each time, and keeps its objects")
    func ignoresConditions() async throws {
        let server = try await tested(.ignoresConditions)
        #expect(try await log(server) { try await put(try small(5), server) } == ["HeadObject", "PutObject"])
        #expect(server.objects.count == 5)
    }

    @Test("a store that refuses conditions is asked each time, and so is one that fails before the test")
    func otherAnswers() async throws {
        let refusing = try await tested(.refusesConditions)
        #expect(try await log(refusing) { _ = try await self.handle(try small(5), refusing) } == ["HeadObject"])
        let server = FakeS3Server()
        for number in 1...UInt64(3) { try await put(try small(number), server) }
        let handle = try await handle(try small(4), server)
        server.change { $0.errors = [("PutObject", 503, "SlowDown")] }
        let content = try small(4)
        await #expect(throws: RemoteFailure.self) { try await server.s3.send(content.fragment(0, id: handle)) }
        #expect(try await log(server) { _ = try await self.handle(try small(5), server) } == ["HeadObject"])
    }

    @Test("a store that does not answer the test is tested twice, and then no more")
    func vainTests() {
        let puts = BlindPuts()
        var tests = 0
        for _ in 0..<40 where puts.beginTest(size: 1000) {
            tests += 1
            puts.endTest(isHonoured: nil)
        }
        #expect(tests == BlindPuts.tests)
        #expect(!puts.skipsQuestion(about: ContentKey(high: 1, low: 1), size: 1000))
    }

    @Test("a large content, and one whose key does not name the content, are asked for")
    func others() async throws {
        let server = try await tested()
        let large = try TestContent(9, size: Int(BlindPuts.largest) + 1, name: "b.jpg", fragmentSize: 5 << 20)
        #expect(try await log(server) { try await put(large, server) } == ["HeadObject", "PutObject"])
        let template = try S3KeyTemplate("{path}")
        let named = FakeS3Server { $0.key = template }
        for number in 1...UInt64(6) { try await put(try small(number, name: "\(number).jpg"), named) }
        #expect(named.log.count == 12)
    }

    @Test("a content that the store has is found by the next registration, and others are asked for again")
    func existing() async throws {
        let server = try await tested()
        let other = server.another()
        let content = try small(5)
        let foreign = try #require(await other.register([content.description]).first).get()
        guard case .registered(let handle, _) = foreign else { throw RemoteConformance.Unexpected("existing") }
        _ = try await other.send(content.fragment(0, id: handle))

        let own = try await self.handle(content, server)
        await #expect(throws: RemoteFailure.forgotten) { try await server.s3.send(content.fragment(0, id: own)) }
        guard case .existing(let object, _) = try await register(content, server) else {
            throw RemoteConformance.Unexpected("registered anew")
        }
        #expect(object.id == "in/\(content.key).jpg")
        #expect(server.objects.count == 5)
        #expect(try await log(server) { try await put(try small(6), server) } == ["HeadObject", "PutObject"])
    }

    @Test("another content under the same key gets a number")
    func taken() async throws {
        let server = try await tested()
        let content = try small(5)
        server.change {
            $0.objects["in/\(content.key).jpg"] = FakeS3Server.Object(bytes: [1], size: 1, tag: "x", headers: [:])
        }
        let handle = try await handle(content, server)
        await #expect(throws: RemoteFailure.forgotten) { try await server.s3.send(content.fragment(0, id: handle)) }
        #expect(try await put(content, server).id == "in/\(content.key) (2).jpg")
        #expect(server.objects["in/\(content.key).jpg"]?.bytes == [1])
    }

    @Test("a PUT whose reply was lost finds its object, and the next contents are asked for")
    func lostReply() async throws {
        let server = try await tested()
        let content = try small(5)
        let handle = try await handle(content, server)
        server.loseNextReply()
        await #expect(throws: RemoteFailure.self) { try await server.s3.send(content.fragment(0, id: handle)) }
        let receipt = try await server.s3.send(content.fragment(0, id: handle))
        #expect(receipt == content.key.description)
        #expect(try await log(server) { _ = try await self.handle(try small(6), server) } == ["HeadObject"])
    }

    @Test("after enough missing contents the remote stops asking again")
    func recovers() async throws {
        let server = try await tested()
        let existing = try small(1)
        let handle = try await handle(existing, server)
        await #expect(throws: RemoteFailure.forgotten) { try await server.s3.send(existing.fragment(0, id: handle)) }
        for number in 1...UInt64(BlindPuts.caution) {
            _ = try await self.handle(try small(100 + number), server)
        }
        #expect(try await log(server) { try await put(try small(500), server) } == ["PutObject"])
    }
}
