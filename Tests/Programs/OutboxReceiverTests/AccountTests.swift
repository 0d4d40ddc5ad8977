import Foundation
import Logging
import TestSupport
import Testing

@testable import OutboxReceiver

@Suite struct AccountTests {
    private static let tokens = "alice-token alice, bob-token bob"

    @Test func aTokenIsNeededWhereThereAreTokens() async throws {
        try await TestServer.run(configure: { $0.tokens = Self.tokens }) { server in
            let anonymous = try server.isFinish(["x"])
            #expect(anonymous.status == 401)
            #expect(try server.isFinish(["x"], token: "wrong").status == 401)
            #expect(try server.isFinish(["x"], token: "bob-token").status == 404)
        }
    }

    @Test func aQuestionAboutNoFileTellsWhetherTheTokenIsGood() async throws {
        try await TestServer.run(configure: { $0.tokens = Self.tokens }) { server in
            #expect(try server.isFinish([], token: "wrong").status == 401)
            let reply = try server.isFinish([], token: "bob-token")
            #expect(reply.status == 200)
            #expect(reply.data["finishStatus"] as? Int == 1)
            #expect(reply.data["failFileIds"] as? String == "")
            #expect(try server.post("/fileSection/delete.do", ["fileIds": []], token: "bob-token").status == 400)
        }
    }

    @Test func noPartOfACommentIsAToken() async throws {
        let tokens = "# anna, old laptop\nalice-token alice # here, too much\n\t#, bob-token bob\na#b carol,c#d carol"
        try await TestServer.run(configure: { $0.tokens = tokens }) { server in
            let statuses = try ["old", "too", "bob-token", "#", "#,", "alice-token", "a#b", "c#d"].map { token in
                try server.isFinish(["x"], token: token).status
            }
            #expect(statuses == [401, 401, 401, 401, 401, 404, 404, 404])
        }
    }

    /// Returns the status of an announcement of `size` bytes.
    private static func status(_ server: TestServer, _ token: String, _ size: Int) throws -> Int {
        let file: [String: Any] = ["fileName": "a.jpg", "totalSize": size, "md5": TestServer.md5(Data([1]))]
        return try server.post("/fileSection/preLoad.do", ["files": [file]], token: token).status
    }

    @Test func aQuotaInALineAppliesToItsUserAlone() async throws {
        let tokens = "a alice quota=12KiB, b bob, c carol quota=1, c2 carol quota=none, d dave quota=12KiB, d2 dave"
        try await TestServer.run(configure: { ($0.tokens, $0.quota) = (tokens, 8192) }) { server in
            let sizes = [("a", 1000), ("a", 100), ("b", 4097), ("b", 4096), ("c", 1 << 20), ("d2", 2048), ("d", 1)]
            let statuses = try sizes.map { try Self.status(server, $0, $1) }
            #expect(statuses == [200, 507, 507, 200, 200, 200, 507])
        }
    }

    @Test(arguments: ["quota=", "quota=50GB", "quota=-1", "50GiB", "quota=99999999999TiB", "quota=1 more"])
    func aQuotaThatCannotBeReadIsNamedWithItsLine(word: String) {
        let error = #expect(throws: StartFailure.self) {
            try Tokens(text: "# family\na alice\n\nsecret bob \(word)", path: nil, logger: Logger(label: "test"))
        }
        #expect(error?.description.contains("line 4") == true)
        #expect(error?.description.contains("secret") == false)
    }

    @Test func aTokenFileWithABadQuotaKeepsTheFormerTokens() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "tokens-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("a alice quota=5KiB\n".utf8).write(to: URL(filePath: path))
        let tokens = try Tokens(text: nil, path: path, logger: Logger(label: "test"))
        try Data("b alice quota=much\n".utf8).write(to: URL(filePath: path))
        #expect(try tokens.user(authorization: "Bearer a", now: 1) == "alice")
        #expect(tokens.quotas == ["alice": 5120])
        try Data("b alice\nb bob quota=7\n".utf8).write(to: URL(filePath: path))
        #expect(throws: Refusal.unauthorized) { try tokens.user(authorization: "Bearer a", now: 2) }
        #expect(tokens.quotas == ["bob": 7])
    }

    @Test func aTokenFileThatBecomesEmptyKeepsTheFormerTokens() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "tokens-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("a alice\n".utf8).write(to: URL(filePath: path))
        let tokens = try Tokens(text: nil, path: path, logger: Logger(label: "test"))
        try Data("# a alice\n".utf8).write(to: URL(filePath: path))
        #expect(try tokens.user(authorization: "Bearer a", now: 1) == "alice")
    }

    @Test func aTokenFileThatIsNoFileKeepsTheFormerTokens() throws {
        let path = NSTemporaryDirectory() + "tokens-\(UUID())"
        defer { unlink(path) }
        try Data("a alice\n".utf8).write(to: URL(filePath: path))
        let tokens = try Tokens(text: nil, path: path, logger: Logger(label: "test"))
        unlink(path)
        #expect(mkfifo(path, 0o600) == 0)
        #expect(try tokens.user(authorization: "Bearer a", now: 1) == "alice")
    }

    @Test func usersDoNotSeeEachOther() async throws {
        try await TestServer.run(configure: { $0.tokens = Self.tokens }) { server in
            let content = TestServer.content(1000)
            let first = try server.upload(content, token: "alice-token")
            #expect(try server.isFinish([first.id], token: "bob-token").status == 404)
            #expect(try server.sendBlock(1, of: content, id: first.id, token: "bob-token").status == 404)
            _ = try server.post("/fileSection/delete.do", ["fileIds": [first.id]], token: "bob-token")
            #expect(try server.finishedPath(first.id, token: "alice-token") == first.urlPath)

            #expect(!(try server.preLoad(content, token: "bob-token").isExisting))
            let second = try server.upload(content, token: "bob-token")
            #expect(second.urlPath != first.urlPath)
            #expect(server.files("objects").count == 2)
            #expect(try server.inode("files/alice/a.jpg") != server.inode("files/bob/a.jpg"))
            #expect(server.files("files") == ["alice/a.jpg", "bob/a.jpg"])
            #expect(try server.get(second.urlPath).body == content)
        }
    }

    @Test func sourcesOfTwoUsersStayApartWhateverTheyShare() async throws {
        try await TestServer.run(configure: { $0.tokens = Self.tokens }) { server in
            let content = TestServer.content(1000)
            var ids: [String: String] = [:]
            var paths: [String: String] = [:]
            for user in ["alice", "bob"] {
                let id = try server.upload(content, path: "trip/a.jpg", token: "\(user)-token").id
                ids[user] = id
                paths[user] = try server.commit([id], title: "\(user)'s day", token: "\(user)-token")
            }
            let (alice, bob) = (try #require(paths["alice"]), try #require(paths["bob"]))
            #expect(alice != bob)
            #expect(try server.page(alice).contains("alice&#39;s day"))
            #expect(try server.page(bob).contains("bob&#39;s day"))

            // A later revision of Bob's post does not change Alice's post.
            let id = try #require(ids["bob"])
            #expect(try server.commit([id], revision: 2, title: "later", token: "bob-token") == bob)
            #expect(try server.page(alice).contains("alice&#39;s day"))
            #expect(server.files("files") == ["alice/trip/a.jpg", "bob/trip/a.jpg"])
        }
    }

    @Test func nobodyCommitsFilesOfAnother() async throws {
        try await TestServer.run(configure: { $0.tokens = Self.tokens }) { server in
            let id = try server.upload(TestServer.content(10), token: "alice-token").id
            let body: [String: Any] = ["sourceId": "s1", "revision": 1, "fileIds": [id]]
            #expect(try server.post("/source/commit.do", body, token: "bob-token").status == 404)
            #expect(try server.post("/source/commit.do", body).status == 401)
        }
    }

    @Test func withoutTokensOnlyLoopbackIsListenedOn() throws {
        var configuration = ReceiverConfiguration(root: "/nowhere", listen: ListenAddress(host: "0.0.0.0", port: 0))
        #expect(throws: StartFailure.self) { try Receiver(configuration, logger: Logger(label: "test")) }
        configuration.tokens = "one-word"
        #expect(throws: StartFailure.self) { try Receiver(configuration, logger: Logger(label: "test")) }
    }

    @Test func aRootIsUsedByOneReceiverOnly() async throws {
        try await TestServer.run { server in
            let configuration = ReceiverConfiguration(root: server.root.path)
            let error = #expect(throws: StartFailure.self) {
                try Receiver(configuration, logger: Logger(label: "test"))
            }
            #expect(error?.exitCode == 75)
        }
    }
}
