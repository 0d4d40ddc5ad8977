import Foundation
import Glibc
import Logging
import Synchronization
import TestSupport
import Testing

@testable import OutboxReceiver

/// A user with a small quota takes little space, whatever the user does.
@Suite struct ChargeTests {
    private static func plan(_ size: Int64, _ path: String, user: String = "a") -> UploadPlan {
        UploadPlan(
            user: user, size: size, md5: .random(), fileName: "n", path: path, type: "image/jpeg", modified: nil)
    }

    @Test(arguments: [
        (1, 4096), (4096, 4096), (4097, 8192), (Int64.max, Int64.max - 4096),
    ])
    func aFileCountsInBlocks(size: Int64, charge: Int64) {
        #expect(Charge.file(size) == charge)
    }

    @Test func anIdCountsWithItsNameAndDirectories() {
        let flat = Self.plan(1, "b").charge
        #expect(flat > Charge.block)
        #expect(Self.plan(1, "a/b").charge >= flat + Charge.directory)
        #expect(Self.plan(1, String(repeating: "a", count: 4096)).charge >= flat + 3 * 4095)
        // Without a path, the name may have directories.
        let named = UploadPlan(
            user: "a", size: 1, md5: .random(), fileName: "a/b/n", path: nil, type: "image/jpeg", modified: nil)
        #expect(named.charge >= flat + 2 * Charge.directory)
        // Deeper directories are not made.
        #expect(Self.plan(1, String(repeating: "a/", count: 2000)).charge < flat + 33 * Charge.directory + 3 * 4096)
    }

    @Test func longTextsOfAContentCount() {
        let key = ContentKey(user: "a", md5: .random(), size: 1)
        var content = Content(
            key: key, token: .random(), object: ObjectName(md5: key.md5, variant: 0), name: "b", type: "image/jpeg",
            at: 1)
        let short = content.charge
        _ = content.add(paths: [String(repeating: "a", count: 4000)])
        #expect(content.charge > short + 10_000)
    }

    // MARK: The disk

    /// The bytes that everything below the root takes on the disk.
    private static func taken(_ root: URL) -> Int64 {
        let all = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
        var seen: Set<UInt> = []
        return all.reduce(into: 0) { sum, path in
            var status = stat()
            guard lstat(root.appending(path: path).path, &status) == 0, seen.insert(status.st_ino).inserted else {
                return
            }
            sum += Int64(status.st_blocks) * 512
        }
    }

    @Test func tinyFilesInDirectoriesOfTheirOwnTakeNoMoreThanTheQuota() async throws {
        let quota: Int64 = 512 << 10
        try await TestServer.run(configure: { ($0.tokens, $0.quota) = ("a-token a, b-token b", quota) }) { server in
            let before = Self.taken(server.root)
            var count = 0
            while count < 200 {
                let content = TestServer.content(6, seed: UInt64(count))
                let file: [String: Any] = [
                    "fileName": "a", "totalSize": 6, "md5": TestServer.md5(content), "path": "\(count)/x/y/a",
                ]
                let reply = try server.post("/fileSection/preLoad.do", ["files": [file]], token: "a-token")
                guard let id = (reply.data["fileIds"] as? [String])?.first else {
                    #expect(reply.status == 507)
                    break
                }
                #expect(try server.sendBlock(1, of: content, id: id, token: "a-token").status == 200)
                _ = try server.finishedPath(id, token: "a-token")
                count += 1
            }
            #expect((5..<50).contains(count))
            #expect(Self.taken(server.root) - before < quota + 256 << 10)
            try server.upload(TestServer.content(100_000), token: "b-token")
        }
    }

    @Test func aKnownContentUnderManyNamesTakesNoMoreThanTheQuota() async throws {
        let quota: Int64 = 512 << 10
        let root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let content = TestServer.content(6)
        // A restart must not forget what names and directories take.
        for round in 0..<3 {
            try await TestServer.run(root: root, configure: { $0.quota = quota }) { server in
                try server.upload(content)
                for number in 0..<50 {
                    let path = (["\(round)-\(number)"] + (0..<20).map { "\($0)" } + ["a"]).joined(separator: "/")
                    #expect(try server.preLoad(content, path: path).isExisting)
                }
                #expect(server.files("files").count < 10)
                #expect(Self.taken(server.root) < 256 * 4096 + quota + 256 << 10)
            }
        }
    }

    // MARK: The journal

    private static func store(_ root: URL, free: @escaping @Sendable () -> Int64 = { 1 << 40 }) throws -> Store {
        try Store(
            path: root.path,
            limits: Store.Limits(
                freeSpaceFloor: 0, maximumFileSize: 1 << 30, maximumOpenUploads: 1000, quota: 1 << 20),
            synchronizes: false, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { 1000 },
            freeSpace: free)
    }

    private static func inTemporaryRoot(_ body: (URL) async throws -> Void) async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        try await body(root)
    }

    @Test func manyIdsWithLongNamesLeaveAShortJournal() async throws {
        try await Self.inTemporaryRoot { root in
            let store = try Self.store(root)
            let name = String(repeating: "n", count: 4096)
            var written: Int64 = 0
            while written < 40 << 20 {
                let opened = try await store.preLoad((0..<50).map { _ in Self.plan(1, name) }, user: "a")
                #expect(try store.delete(opened.map(\.id), user: "a") == 50)
                written += 50 * 4096
            }
            try await Poll.until("the journal to be rewritten") { store.withBooks { $0.journal.length } < 16 << 20 }
            #expect(try #require(try store.root.status(of: "journal")).size < 17 << 20)
        }
    }

    /// A request may have begun before its upload is deleted.
    @Test func aBlockOfADeletedUploadLeavesNoFile() async throws {
        try await Self.inTemporaryRoot { root in
            let store = try Self.store(root)
            let id = try #require(try await store.preLoad([Self.plan(1, "b")], user: "a").first).id
            let upload = try #require(store.open.first { $0.id == id })
            let ticket = try #require(try upload.begin(0, at: 1000))
            #expect(try store.delete([id], user: "a") == 1)
            #expect(throws: Refusal.unknownID) { try Fragment(ticket, of: upload, in: store) }
            #expect(try store.uploads.names().isEmpty)
        }
    }

    @Test func theIdsOfManyFinishedUploadsAreForgotten() {
        var catalog = Catalog()
        var ids: [Hex128] = []
        for time in 0..<Int64(30_000) {
            let id = Hex128(high: 1, low: UInt64(time))
            ids.append(id)
            catalog.add(id, Catalog.FinishedID(user: "a", content: .random(), at: time))
        }
        catalog.add(Hex128(high: 2, low: 0), Catalog.FinishedID(user: "b", content: .random(), at: 0))
        #expect(catalog.finished.count <= 25_001)
        #expect(ids.suffix(20_000).allSatisfy { catalog.finished[$0] != nil })
        #expect(catalog.finished[Hex128(high: 2, low: 0)] != nil)
    }

    // MARK: The floor

    @Test func nothingIsWrittenBelowTheFloor() async throws {
        try await Self.inTemporaryRoot { root in
            let free = Mutex<Int64>(1 << 30)
            let store = try Self.store(root) { free.withLock { $0 } }
            let commit = Commit(
                source: Commit.Source(user: "a", id: "s"), revision: 1, token: .random(), title: "t", createDate: "",
                cover: nil, contents: [])
            free.withLock { $0 = 0 }
            let before = store.withBooks { $0.journal.length }
            await #expect(throws: Refusal.diskFull) { try await store.preLoad([Self.plan(1, "a")], user: "a") }
            await #expect(throws: Refusal.diskFull) { try await store.commit(commit) }
            #expect(store.withBooks { $0.journal.length } == before)
        }
    }

    // MARK: Posts

    @Test func postsCountAndTheirOwnerRemovesThem() async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let configure: (inout ReceiverConfiguration) -> Void = {
            ($0.tokens, $0.quota) = ("a-token a, b-token b", 32 << 10)
        }
        var path = ""
        try await TestServer.run(root: root, configure: configure) { server in
            let id = try server.upload(TestServer.content(10), token: "a-token").id
            let other = try server.upload(TestServer.content(10), token: "b-token").id
            let others = try server.commit([other], source: "s1", token: "b-token")
            path = try server.commit([id], source: "s1", token: "a-token")
            func commit(_ source: String) throws -> Int {
                try server.post(
                    "/source/commit.do", ["sourceId": source, "revision": 1, "fileIds": [id]], token: "a-token"
                ).status
            }
            var count = 1
            while count < 100, try commit("s\(count + 1)") == 200 { count += 1 }
            #expect((10..<32).contains(count))
            #expect(try commit("s\(count + 1)") == 507)
            #expect(try server.get(path).status == 200)
            let removal = ["sourceIds": ["s1", "s1", "unknown"]]
            #expect(try server.post("/source/delete.do", removal, token: "nobody").status == 401)
            #expect(try server.post("/source/delete.do", ["sourceIds": []], token: "a-token").status == 400)
            #expect(try server.post("/source/delete.do", removal, token: "a-token").status == 200)
            #expect(try server.get(path).status == 404)
            #expect(try server.get(others).status == 200)
            #expect(try commit("s\(count + 1)") == 200)
        }
        try await TestServer.run(root: root, configure: configure) { server in
            let page = try server.get(path)
            #expect(page.status == 404)
            // The files stay.
            let file = try server.preLoad(TestServer.content(10), token: "a-token")
            #expect(file.isExisting)
        }
    }
}
