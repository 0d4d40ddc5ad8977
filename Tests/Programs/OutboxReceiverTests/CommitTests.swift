import Foundation
import Logging
import Testing

@testable import OutboxReceiver

@Suite struct CommitTests {
    @Test func aCommitIsRecordedOnceForGood() async throws {
        try await Self.inTemporaryRoot { root in
            var paths: Set<String> = []
            var ids: [String] = []
            for round in 0..<2 {
                try await TestServer.run(root: root) { server in
                    if round == 0 { ids = [try server.upload(TestServer.content(10)).id] }
                    for _ in 0..<2 { paths.insert(try server.commit(ids)) }
                    // A new id of the same content makes no other list.
                    paths.insert(try server.commit([try server.preLoad(TestServer.content(10)).id]))
                    // The ids of a repeated request may be forgotten.
                    #expect(try server.post("/fileSection/delete.do", ["fileIds": ids]).status == 200)
                }
            }
            #expect(paths.count == 1)
        }
    }

    @Test func aKnownRevisionWithAnotherListIsRefusedAndTheLatestOneNamed() async throws {
        try await TestServer.run { server in
            let ids = try (1...3).map { try server.upload(TestServer.content(10, seed: $0), name: "\($0).jpg").id }
            let path = try server.commit([ids[0]])
            _ = try server.commit([ids[0], ids[1]], revision: 2)
            let lists: [([String], revision: Int, title: String, cover: Int)] = [
                ([ids[0], ids[2]], 2, "A day at the sea", 0), ([ids[0]], 2, "A day at the sea", 0),
                ([ids[1], ids[0]], 2, "A day at the sea", 0), ([ids[2]], 1, "A day at the sea", 2),
            ]
            for list in lists {
                let reply = try server.post(
                    "/source/commit.do",
                    [
                        "sourceId": "s1", "revision": list.revision, "title": list.title, "cover": ids[list.cover],
                        "fileIds": list.0,
                    ])
                #expect(reply.status == 409, "\(list)")
                #expect(reply.data["revision"] as? Int == 2, "\(list)")
            }
            // Requests that are repeated late, even if the server forgot their ids.
            #expect(try server.commit([ids[0], ids[1]], revision: 1) == path)
            #expect(try server.post("/fileSection/delete.do", ["fileIds": [ids[0]]]).status == 200)
            #expect(try server.commit([ids[0]]) == path)
            #expect(try server.commit([ids[2]], revision: 3) == path)
        }
    }

    @Test func commitsAtTheSameTimeMakeOnePost() async throws {
        try await TestServer.run { server in
            let id = try server.upload(TestServer.content(10)).id
            let paths = try await withThrowingTaskGroup(of: String.self) { group in
                for revision in 0..<24 { group.addTask { try server.commit([id], revision: revision % 3 + 1) } }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(paths.count == 1)
            #expect(try server.page(try #require(paths.first)).contains("revision 3"))
        }
    }

    @Test func aLaterRevisionKeepsTheURL() async throws {
        try await Self.inTemporaryRoot { root in
            var path = ""
            try await TestServer.run(root: root) { server in
                let id = try server.upload(TestServer.content(10)).id
                path = try server.commit([id], title: "first")
                #expect(!(try server.page(path).contains("revision")))
                #expect(try server.commit([id], revision: 3, title: "third") == path)
                #expect(try server.page(path).contains("<h1>third</h1>"))
            }
            try await TestServer.run(root: root) { server in
                let page = try server.page(path)
                #expect(page.contains("<h1>third</h1>"))
                #expect(page.contains("revision 3"))
            }
        }
    }

    @Test func aKillBeforeTheReplyLosesNothing() async throws {
        try await Self.inTemporaryRoot { root in
            var commit = Self.commit(revision: 1)
            _ = try await Self.store(root).commit(commit)
            // The client got no reply and commits again, which would now give the post another token.
            commit.token = .random()
            let (known, outcome) = try await Self.store(root).commit(commit)
            #expect(outcome == .unchanged)
            #expect(known.token != commit.token)
            #expect(try Self.store(root).commit(token: known.token) == known)
        }
    }

    @Test func aKillInTheMiddleOfTheJournalLineLeavesNoPost() async throws {
        try await Self.inTemporaryRoot { root in
            _ = try await Self.store(root).commit(Self.commit(revision: 1))
            let journal = root.appending(path: "journal")
            try Data(contentsOf: journal).dropLast(5).write(to: journal)
            #expect(try await Self.store(root).commit(Self.commit(revision: 1)).outcome == .created)
        }
    }

    @Test func aJournalWrittenAnewHasTheRevisionThatIsShown() async throws {
        try await Self.inTemporaryRoot { root in
            let store = try Self.store(root)
            for revision in 1...3 { _ = try await store.commit(Self.commit(revision: revision)) }
            try store.compactJournal()
            var revisions: [Int] = []
            _ = try Journal.read(store.root) {
                if case .committed(let commit) = $0 { revisions.append(commit.revision) }
            }
            #expect(revisions == [3])
        }
    }

    @Test(arguments: [
        (["x"], 1, nil, 404), (["open"], 1, nil, 409), (["done"], 0, nil, 400), (["done"], 1, "x", 400),
        ([], 1, nil, 400),
    ])
    func whatCannotBeCommittedIsRefused(files: [String], revision: Int, cover: String?, status: Int) async throws {
        try await TestServer.run { server in
            let ids = [
                "open": try server.preLoad(TestServer.content(10)).id,
                "done": try server.upload(TestServer.content(20), name: "b.jpg").id,
            ]
            var body: [String: Any] = ["sourceId": "s", "revision": revision, "fileIds": files.map { ids[$0] ?? $0 }]
            body["cover"] = cover
            #expect(try server.post("/source/commit.do", body).status == status)
        }
    }

    private static func commit(
        _ member: String, _ value: String, _ id: String, _ server: TestServer
    ) throws -> HTTPConnection.Reply {
        try server.post(
            "/source/commit.do",
            json: #"{"sourceId":"s","revision":1,"fileIds":["\#(id)"],"\#(member)":\#(value)}"#)
    }

    @Test(arguments: [
        (
            "createDate",
            [
                #""""#, #""now""#, "1795253400123", "true", #""2026-11-21""#, #""2026-11-21T09:30:00Z""#,
                #""2026-02-29 09:30:00""#, #""2026-13-01 09:30:00""#, #""2026-11-31 09:30:00""#,
                #""2026-11-00 09:30:00""#, #""0000-11-21 09:30:00""#, #""2026-11-21 24:00:00""#,
                #""2026-11-21 09:60:00""#, #""2026-11-21 09:30:60""#, #""2026:11:21-09-30 00""#,
                #""+026-11-21 09:30:00""#, #""2026-11-21 09:30:00 ""#, #""\u0662026-11-21 09:30:0""#,
            ]
        ),
        ("title", ["5", "[]", "{}", "false"]), ("cover", ["5"]),
    ])
    func aCommitWithAMistakeIsRefused(member: String, values: [String]) async throws {
        try await TestServer.run { server in
            let id = try server.upload(TestServer.content(10)).id
            for value in values {
                let reply = try Self.commit(member, value, id, server)
                #expect(reply.status == 400, "\(value)")
                #expect((reply.json["message"] as? String)?.contains(member) == true, "\(value)")
            }
            // No refused commit counts as revision 1.
            #expect(try server.page(try server.commit([id], source: "s", title: "right")).contains("<h1>right</h1>"))
        }
    }

    @Test(arguments: [
        ("createDate", "null"), ("createDate", #""2028-02-29 23:59:59""#), ("createDate", #""2000-02-29 00:00:00""#),
        ("title", "null"), ("title", #""""#), ("cover", "null"), ("cover", #""""#),
    ])
    func aSparseCommitIsTaken(member: String, value: String) async throws {
        try await TestServer.run { server in
            let id = try server.upload(TestServer.content(10)).id
            #expect(try Self.commit(member, value, id, server).status == 200)
        }
    }

    // MARK: Help

    private static func commit(revision: Int) -> Commit {
        Commit(
            source: Commit.Source(user: "a", id: "s"), revision: revision, token: .random(), title: "t",
            createDate: "d",
            cover: nil, contents: [])
    }

    private static func store(_ root: URL) throws -> Store {
        try Store(
            path: root.path,
            limits: Store.Limits(freeSpaceFloor: 0, maximumFileSize: 1 << 30, maximumOpenUploads: 10),
            synchronizes: false, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { 1000 })
    }

    private static func inTemporaryRoot(_ body: (URL) async throws -> Void) async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        try await body(root)
    }
}
