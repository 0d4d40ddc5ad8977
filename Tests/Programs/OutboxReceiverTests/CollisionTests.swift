import CCrypto
import Foundation
import Logging
import Synchronization
import TestSupport
import Testing

@testable import OutboxReceiver

/// Contents with the same MD5 and size, which anybody can make.
@Suite struct CollisionTests {
    private static let first = Data(CollidingPair.first)
    private static let second = Data(CollidingPair.second)

    private static func sha256(_ content: Data) -> String {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256(Array(content), content.count, &digest)
        return digest.map { String(format: "%02x", $0) }.joined()
    }

    /// Announces a content with its own SHA-256, or with the given digest instead.
    private static func announce(
        _ content: Data, name: String, sha256: String? = nil, to server: TestServer
    ) throws -> (id: String, isExisting: Bool) {
        let file: [String: Any] = [
            "fileName": name, "totalSize": content.count, "md5": TestServer.md5(content),
            "sha256": sha256 ?? Self.sha256(content),
        ]
        let reply = try server.post("/fileSection/preLoad.do", ["fileCount": 1, "files": [file]])
        let id = try #require((reply.data["fileIds"] as? [String])?.first)
        return (id, (reply.data["existing"] as? [String])?.contains(id) ?? false)
    }

    @Test func bothShareTheirMD5() {
        #expect(Self.first != Self.second)
        #expect(TestServer.md5(Self.first) == CollidingPair.md5)
        #expect(TestServer.md5(Self.second) == CollidingPair.md5)
    }

    @Test func aForgedContentIsNotCalledExisting() async throws {
        try await TestServer.run { server in
            let (id, _) = try Self.announce(Self.first, name: "a.bin", to: server)
            _ = try server.sendBlock(1, of: Self.first, id: id)
            let path = try server.finishedPath(id)

            let other = try Self.announce(Self.second, name: "b.bin", to: server)
            #expect(!other.isExisting)
            _ = try server.sendBlock(1, of: Self.second, id: other.id)
            let otherPath = try server.finishedPath(other.id)
            #expect(otherPath != path)
            #expect(try server.get(path).body == Self.first)
            #expect(try server.get(otherPath).body == Self.second)

            // The server now knows both contents, each by its SHA-256.
            let again = try Self.announce(Self.first, name: "c.bin", to: server)
            #expect(again.isExisting)
            #expect(try server.finishedPath(again.id) == path)
            let otherAgain = try Self.announce(Self.second, name: "d.bin", to: server)
            #expect(otherAgain.isExisting)
            #expect(try server.finishedPath(otherAgain.id) == otherPath)
        }
    }

    @Test func collidingContentsThatAreRegisteredTogetherKeepTheirURLs() async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let paths = Mutex<[String]>([])
        try await TestServer.run(root: root) { server in
            let first = try server.preLoad(Self.first, name: "a.bin").id
            let second = try server.preLoad(Self.second, name: "b.bin").id
            _ = try server.sendBlock(1, of: Self.first, id: first)
            _ = try server.sendBlock(1, of: Self.second, id: second)
            let found = [try server.finishedPath(first), try server.finishedPath(second)]
            #expect(found[0] != found[1])
            // Without a SHA-256 the server can't tell which content the client means.
            #expect(!(try server.preLoad(Self.first, name: "c.bin").isExisting))
            paths.withLock { $0 = found }
        }
        try await TestServer.run(root: root) { server in
            let paths = paths.withLock { $0 }
            let bodies = try paths.map { try server.get($0).body }
            #expect(bodies == [Self.first, Self.second])
        }
    }

    @Test func theSHA256OfAContentThatCameWithoutOneIsTakenFromItsBytes() async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        try await TestServer.run(root: root) { server in
            try server.upload(Self.first, name: "a.bin")
            #expect(!(try Self.announce(Self.second, name: "b.bin", to: server).isExisting))
            #expect(try Self.announce(Self.first, name: "a.bin", to: server).isExisting)
        }
        let journal = try String(contentsOf: root.appending(path: "journal"), encoding: .utf8)
        #expect(journal.contains(Self.sha256(Self.first)))
        try await TestServer.run(root: root) { server in
            let again = try Self.announce(Self.first, name: "a.bin", to: server)
            #expect(again.isExisting)
        }
    }

    @Test(arguments: [1, 2])
    func bytesWithAnotherSHA256ThanWasAnnouncedAreRefused(blocks: Int) async throws {
        try await TestServer.run { server in
            // With two blocks, the server reads the first block back from the disk.
            let padding = Data(count: (blocks - 1) * TestServer.blockSize)
            let (announced, sent) = (Self.first + padding, Self.second + padding)
            let (id, _) = try Self.announce(announced, name: "a.bin", to: server)
            for number in (1...blocks).reversed() { _ = try server.sendBlock(number, of: sent, id: id) }
            #expect(try server.isFinish([id]).data["failFileIds"] as? String == id)
            #expect(server.files("files").isEmpty)
            for number in (1...blocks).reversed() { _ = try server.sendBlock(number, of: announced, id: id) }
            #expect(try server.get(try server.finishedPath(id)).body == announced)
        }
    }

    @Test(arguments: ["\"abc\"", "7", "\"\(String(repeating: "g", count: 64))\""])
    func whatCannotBeASHA256IsRefused(value: String) async throws {
        try await TestServer.run { server in
            let json =
                #"{"files":[{"fileName":"a","totalSize":1,"md5":"\#(CollidingPair.md5)","sha256":\#(value)}]}"#
            let reply = try server.post("/fileSection/preLoad.do", json: json)
            #expect(reply.status == 400)
        }
    }

    @Test func moreContentsWithOneMD5ThanAllowedAreRefused() async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let store = try Store(
            path: root.path,
            limits: Store.Limits(
                freeSpaceFloor: 0, maximumFileSize: 1 << 30, maximumOpenUploads: 10, mostTwins: 1),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { 1000 })
        let md5 = try #require(Hex128(CollidingPair.md5))
        var plan = UploadPlan(
            user: "mallory", size: 128, md5: md5, fileName: "a.bin", path: nil, type: "image/jpeg", modified: 5)
        func send(_ bytes: [UInt8]) async throws -> Store.Answer {
            let id = try #require(try await store.preLoad([plan], user: "mallory").first).id
            guard let upload = store.open.first(where: { $0.id == id }) else {
                return store.answer(for: id, user: "mallory")
            }
            var fragment = try #require(try Fragment.begin(0, of: upload, in: store))
            try bytes.withUnsafeBytes { try fragment.append($0) }
            try fragment.complete(in: store)
            store.advance(upload)
            await store.waitForFinishing([id], of: "mallory")
            return store.answer(for: id, user: "mallory")
        }
        guard case .finished = try await send(CollidingPair.first) else { throw CancellationError() }
        // Known by MD5 and size alone, the first content counts as this one.
        guard case .finished = try await send(CollidingPair.second) else { throw CancellationError() }
        // Whoever says that the content is another one is refused before the first byte.
        plan.sha256 = Hex256(Self.sha256(Self.second))
        await #expect(throws: Refusal.tooManyTwins) { try await store.preLoad([plan], user: "mallory") }
        #expect(
            try FileManager.default.contentsOfDirectory(
                atPath: root.appending(path: "objects/\(CollidingPair.md5.prefix(2))").path
            ).count == 1)
    }

    @Test(arguments: [128, 9 << 20])
    func theSameContentOfTwoUsersIsStoredForEach(size: Int) async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let store = try Store(
            path: root.path,
            limits: Store.Limits(freeSpaceFloor: 0, maximumFileSize: 1 << 30, maximumOpenUploads: 10),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { 1000 })
        let bytes = [UInt8](repeating: 7, count: size)
        let md5 = try #require(Hex128(TestServer.md5(Data(bytes))))
        var ids: [String: Hex128] = [:]
        // Both are complete before either is confirmed.
        for user in ["alice", "bob"] {
            let plan = UploadPlan(
                user: user, size: Int64(size), md5: md5, fileName: "a.bin", path: nil, type: "image/jpeg", modified: 5)
            let id = try #require(try await store.preLoad([plan], user: user).first).id
            ids[user] = id
            let upload = try #require(store.open.first { $0.id == id })
            for block in 0..<plan.blockCount {
                var fragment = try #require(try Fragment.begin(block, of: upload, in: store))
                let start = Int(plan.offset(of: block))
                try bytes[start..<(start + plan.length(of: block))].withUnsafeBytes { try fragment.append($0) }
                try fragment.complete(in: store)
            }
        }
        for upload in store.open { store.advance(upload) }
        var objects: [ObjectName] = []
        for (user, id) in ids.sorted(by: { $0.key < $1.key }) {
            try await Poll.until("the content of \(user) to be confirmed") {
                guard case .finished(let content) = store.answer(for: id, user: user) else { return false }
                objects.append(content.object)
                return true
            }
        }
        #expect(Set(objects).count == 2)
        for object in objects {
            let stored = try Data(contentsOf: root.appending(path: "objects/\(object.path)"))
            #expect(stored.elementsEqual(bytes))
        }
    }
}
