import Testing
import UploadCore

@testable import Remotes

@Suite("S3: a list of objects in place of HEADs")
struct S3ListTests: S3Steps {
    /// Uploads as many small contents as make the remote list the bucket.
    private func beBusy(_ server: FakeS3Server, from first: UInt64 = 1) async throws {
        for number in first..<first + UInt64(ObjectList.questionsPerPage) { try await put(try small(number), server) }
    }

    /// Returns the requests of some work.
    private func log(_ server: FakeS3Server, of work: () async throws -> Void) async throws -> [String] {
        let before = server.log.count
        try await work()
        return Array(server.log.dropFirst(before))
    }

    private func lists(_ server: FakeS3Server) -> Int { server.log.count { $0 == "ListObjectsV2" } }

    private func expectExisting(_ content: TestContent, _ server: FakeS3Server) async throws {
        guard case .existing = try await register(content, server) else {
            throw RemoteConformance.Unexpected("registered anew")
        }
    }

    @Test("among many small contents each takes one request, and none that the store has is sent")
    func halvesRequests() async throws {
        let server = FakeS3Server()
        let known = try small(100)
        try await put(known, server)
        try await beBusy(server)
        #expect(lists(server) == 1)
        #expect(try await log(server) { try await put(try small(50), server) } == ["PutObject"])
        #expect(try await log(server) { try await expectExisting(known, server) } == ["HeadObject"])
    }

    @Test("a list of several pages is read to its end")
    func pages() async throws {
        let server = FakeS3Server()
        server.change { $0.pageSize = 8 }
        try await beBusy(server)
        #expect(lists(server) == 3)
        #expect(try await log(server) { try await put(try small(50), server) } == ["PutObject"])
        for number in 1...UInt64(ObjectList.questionsPerPage - 1) {
            try await expectExisting(try small(number), server)
        }
    }

    @Test("a list counts for seconds only, and a content of another agent is not sent afterwards")
    func age() async throws {
        let server = FakeS3Server()
        try await beBusy(server)
        let content = try small(50)
        let other = server.another()
        guard case .registered(let handle, _) = try await other.register([content.description])[0].get() else {
            throw RemoteConformance.Unexpected("existing")
        }
        _ = try await other.send(content.fragment(0, id: handle))
        server.change { $0.now += ObjectList.span }
        try await expectExisting(content, server)
        #expect(lists(server) == 2)
        server.change { $0.now += ObjectList.span * 2 }
        #expect(try await log(server) { try await put(try small(51), server) } == ["HeadObject", "PutObject"])
    }

    @Test("a content that another agent stores after the list is neither overwritten nor stored twice")
    func race() async throws {
        let server = FakeS3Server()
        try await beBusy(server)
        let content = try small(50)
        let handle = try await handle(content, server)
        guard case .registered(let foreign, _) = try await server.another().register([content.description])[0].get()
        else { throw RemoteConformance.Unexpected("existing") }
        _ = try await server.another().send(content.fragment(0, id: foreign))
        let receipt = try #require(try await server.s3.send(content.fragment(0, id: handle)))
        guard case .confirmed = try await finish(content.upload(handle, receipts: [0: receipt]), server) else {
            throw RemoteConformance.Unexpected("not confirmed")
        }
        #expect(server.objects.count == ObjectList.questionsPerPage + 1)
    }

    @Test("a name that another content took after the list is asked for")
    func takenName() async throws {
        let server = FakeS3Server()
        try await beBusy(server)
        let content = try small(50)
        let handle = try await handle(content, server)
        server.change {
            $0.objects[handle.name] = FakeS3Server.Object(bytes: [1], size: 1, tag: "x", headers: [:])
        }
        await #expect(throws: RemoteFailure.forgotten) { try await server.s3.send(content.fragment(0, id: handle)) }
        #expect(try await put(content, server).id == "in/\(content.key) (2).jpg")
    }

    @Test("keys that do not name the content, and contents of several parts, are always asked for")
    func others() async throws {
        let template = try NameTemplate("{prefix}{path}")
        let named = FakeS3Server { $0.key = template }
        for number in 1...UInt64(ObjectList.questionsPerPage * 2) {
            try await put(try small(number, name: "\(number).jpg"), named)
        }
        #expect(lists(named) == 0)
        let server = FakeS3Server()
        try await beBusy(server)
        let large = try large(server)
        #expect(
            try await log(server) { _ = try await handle(large, server) } == ["HeadObject", "CreateMultipartUpload"])
    }

    @Test("a store that refuses to list, or that has too many objects, gets HEADs")
    func noList() async throws {
        let refusing = FakeS3Server()
        refusing.change { $0.errors = [("ListObjectsV2", 403, "AccessDenied")] }
        try await beBusy(refusing)
        #expect(try await log(refusing) { try await put(try small(50), refusing) } == ["HeadObject", "PutObject"])

        let full = FakeS3Server()
        full.change { state in
            state.pageSize = 1
            for number in 0...ObjectList.mostPages {
                state.objects["in/\(number)"] = FakeS3Server.Object(bytes: [], size: 0, tag: "x", headers: [:])
            }
        }
        try await beBusy(full)
        full.change { $0.now += ObjectList.span }
        try await beBusy(full, from: 50)
        #expect(lists(full) == ObjectList.mostPages)
    }
}

@Suite("Lists of objects")
struct ObjectListTests {
    private func keys(_ names: [String], pages: Int = 1) -> ObjectList.Keys {
        var keys = ObjectList.Keys()
        for name in names { keys.insert(name) }
        keys.pages = pages
        return keys
    }

    /// Asks until the list is due; returns the number of questions.
    private func questions(_ list: inout ObjectList, at now: ContinuousClock.Instant) -> Int {
        for number in 1...1000 where list.ask(for: "k", at: now) == .list(now) { return number }
        return 0
    }

    @Test("the longer a list is, the more questions it must answer")
    func worth() {
        var list = ObjectList()
        let start = ContinuousClock.now
        #expect(questions(&list, at: start) == ObjectList.questionsPerPage)
        list.store(keys([], pages: 3), of: start)
        #expect(questions(&list, at: start + ObjectList.span * 3) == 3 * ObjectList.questionsPerPage)
    }

    @Test("a busy span is followed by a list at once, a quiet one is not")
    func spans() {
        var list = ObjectList()
        var now = ContinuousClock.now
        #expect(questions(&list, at: now) == ObjectList.questionsPerPage)
        now += ObjectList.span
        #expect(list.ask(for: "k", at: now) == .list(now))
        #expect(list.ask(for: "k", at: now) == .unknown)
        now += ObjectList.span
        #expect(list.ask(for: "k", at: now) == .unknown)
    }

    @Test("a list that comes after its span answers nothing")
    func late() {
        var list = ObjectList()
        let start = ContinuousClock.now
        #expect(questions(&list, at: start) == ObjectList.questionsPerPage)
        #expect(list.ask(for: "k", at: start + ObjectList.span * 2) == .unknown)
        list.store(keys([]), of: start)
        #expect(list.ask(for: "k", at: start + ObjectList.span * 2) == .unknown)
    }
}
