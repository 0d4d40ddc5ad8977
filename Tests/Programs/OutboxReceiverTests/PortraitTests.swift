import Foundation
import NIOCore
import Synchronization
import Testing

@testable import OutboxReceiver

@Suite struct PortraitTests {
    private static let picture = Data([0xff, 0xd8, 0xff, 0xe0]) + TestServer.content(5000)
    private static let headers = ["Content-Type": "multipart/form-data; boundary=\(TestServer.boundary)"]

    private static func post(_ picture: Data, to server: TestServer) throws -> HTTPConnection.Reply {
        let connection = try server.connection()
        try connection.send(
            "POST", "/user/portrait.do", headers, body: TestServer.multipart(picture, name: "portrait"))
        return try connection.reply()
    }

    /// Uploads a new portrait and returns the path of the portrait's URL.
    private static func replace(_ server: TestServer, by picture: Data = picture) throws -> String {
        let url = try #require(try post(picture, to: server).data["userImg"] as? String)
        let path = try #require(url.range(of: "/u/"))
        return String(url[path.lowerBound...])
    }

    @Test func eachPortraitHasAURLOfItsOwn() async throws {
        try await TestServer.run { server in
            let first = try Self.replace(server)
            let second = try Self.replace(server)
            #expect(first != second)
            #expect(first.hasSuffix(".jpg!150x150"))
            #expect(try server.get(first).body == Self.picture)
            #expect(try server.get(String(first.prefix { $0 != "!" })).body == Self.picture)
        }
    }

    @Test func aPortraitThatIsNoJPEGIsRefused() async throws {
        try await TestServer.run { server in
            for content in [TestServer.content(5000), Data(), Data([0xff, 0xd8])] {
                let status = try Self.post(content, to: server).status
                #expect(status == 415)
            }
            #expect(server.files("portraits").isEmpty)
        }
    }

    @Test func aPortraitIsWrittenToTheDiskAsItComes() async throws {
        try await TestServer.run { server in
            let body = TestServer.multipart(Self.picture + TestServer.content(1 << 20), name: "portrait")
            let connection = try server.connection()
            try connection.send(
                "POST", "/user/portrait.do", Self.headers, body: body.prefix(1 << 19), length: body.count)
            let deadline = ContinuousClock.now + .seconds(60)
            var size = 0
            while size < 1 << 18, ContinuousClock.now < deadline {
                await Task.yield()
                let path = server.files("portraits").first.map { server.root.path + "/portraits/" + $0 }
                size = path.flatMap { try? FileManager.default.attributesOfItem(atPath: $0)[.size] as? Int } ?? 0
            }
            #expect(size >= 1 << 18)
            // No quota counts a portrait before it is complete, so there is one at a time.
            #expect(try Self.post(Self.picture, to: server).status == 429)
            try connection.send(body.dropFirst(1 << 19))
            #expect(try connection.reply().status == 200)
        }
    }

    @Test func aPortraitThatIsTooLongIsRefusedAndGone() async throws {
        try await TestServer.run { server in
            let body = TestServer.multipart(Self.picture + Data(count: 20 << 20), name: "portrait")
            let connection = try server.connection()
            // The receiver may close the connection before the client has sent the whole body.
            try? connection.send("POST", "/user/portrait.do", Self.headers, body: body)
            #expect(try connection.reply().status == 413)
            #expect(server.files("portraits").isEmpty)
        }
    }

    @Test func aPortraitLeavesTheSpaceThatMustStayFree() async throws {
        try await TestServer.run(configure: { $0.freeSpaceFloor = .max / 2 }) { server in
            let status = try Self.post(Self.picture, to: server).status
            #expect(status == 507)
            #expect(server.files("portraits").isEmpty)
        }
    }

    private final class Clock: Sendable {
        let time = Mutex(Int64(1_800_000_000))
    }

    @Test func aSupersededPortraitGoesAfterADay() async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let clock = Clock()
        let now: @Sendable () -> Int64 = { clock.time.withLock { $0 } }
        var paths: [String] = []
        try await TestServer.run(root: root, now: now) { server in
            for _ in 0..<2 { paths.append(try Self.replace(server)) }
        }
        clock.time.withLock { $0 += PortraitBook.memory + 1 }
        try await TestServer.run(root: root, now: now) { server in
            let statuses = try paths.map { try server.get($0).status }
            #expect(statuses == [404, 200])
            paths.append(try Self.replace(server))
            let later = try paths.map { try server.get($0).status }
            #expect(later == [404, 200, 200])
        }
    }

    @Test func aPortraitTakesThePlaceOfFormerOnesInTheQuota() async throws {
        try await TestServer.run(configure: { $0.quota = 12_000 }) { server in
            let first = try Self.replace(server)
            let second = try Self.replace(server)
            #expect(try server.get(first).status == 404)
            #expect(try server.get(second).status == 200)
            #expect(try Self.post(Self.picture + Data(count: 8000), to: server).status == 507)
            // The portrait counts.
            let content = TestServer.content(10)
            let file: [String: Any] = ["fileName": "b", "totalSize": 10, "md5": TestServer.md5(content)]
            #expect(try server.post("/fileSection/preLoad.do", ["files": [file]]).status == 507)
            #expect(try server.get(second).status == 200)
        }
    }

    // MARK: The book

    private static let tokens = (0..<20).map { Hex128(high: 1, low: UInt64($0)) }

    @Test func aUserHasTenFormerPortraitsAtMost() {
        var book = PortraitBook()
        for (index, token) in Self.tokens.enumerated() { book.add(token, user: "a", at: Int64(index), size: 1) }
        book.add(.random(), user: "b", at: 5, size: 1)
        #expect(Set(book.expired(at: 20)) == Set(Self.tokens[..<9]))
        for token in book.expired(at: 20) { book.forget(token) }
        #expect(book.expired(at: 20).isEmpty)
        // A portrait's age counts from the arrival of the next portrait.
        #expect(Set(book.expired(at: PortraitBook.memory + 16)) == Set(Self.tokens[9..<15]))
        #expect(book.expired(at: .max / 2).count == 10)
    }

    @Test func aBookThatIsReplayedIsTheSame() {
        var book = PortraitBook()
        for token in Self.tokens { book.add(token, user: "a", at: 7, size: 1) }
        book.add(.random(), user: "b", at: 5, size: 1)
        var replayed = PortraitBook()
        for case .portrait(let token, let user, let time, let size) in book.entries {
            replayed.add(token, user: user, at: time, size: size)
        }
        #expect(Set(replayed.expired(at: .max / 2)) == Set(Self.tokens.dropLast()))
        #expect(replayed.charge(of: "a") == book.charge(of: "a"))
    }

    // MARK: Parts of unknown length

    @Test(arguments: [1, 2, 3, 7, 64, 1000])
    func aPartOfUnknownLengthEndsAtTheBoundary(pieceSize: Int) throws {
        let payload = Data("\r\n--test-boundar\r\r\n-".utf8) + TestServer.content(200) + Data("\r\n--test".utf8)
        var body = ByteBuffer(bytes: TestServer.multipart(payload, name: "portrait"))
        var parser = try SectionParser(contentType: Self.headers["Content-Type"], name: "portrait", lengths: nil)
        var found = Data()
        while let piece = body.readSlice(length: min(pieceSize, body.readableBytes)), piece.readableBytes > 0 {
            if let bytes = try parser.payload(in: piece) { found += bytes.readableBytesView }
        }
        try parser.finish()
        #expect(found == payload)
    }

    @Test(arguments: ["\r\n", "", "--\r\n--test-boundary"])
    func aPartOfUnknownLengthMustBeTheLast(end: String) throws {
        let body = ByteBuffer(bytes: TestServer.multipart(Self.picture, name: "portrait", end: end) + Data(count: 2000))
        var parser = try SectionParser(contentType: Self.headers["Content-Type"], name: "portrait", lengths: nil)
        #expect(throws: Refusal.self) {
            _ = try parser.payload(in: body)
            try parser.finish()
        }
    }
}
