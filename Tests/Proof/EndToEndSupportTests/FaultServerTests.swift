import EndToEndSupport
import Testing

@Suite("The fault server")
struct FaultServerTests {
    private func url(_ reply: SectionClient.Reply) -> String? { reply.data["url"] as? String }

    // MARK: Posts

    @Test("makes a post of finished files, and answers a repeated commit with the same URL")
    func post() throws {
        let server = try FaultServer()
        let client = SectionClient(server: server)
        let ids = try client.upload(["a", "b"])
        let first = try client.commit(ids)
        #expect(try url(client.commit(ids)) == url(first) && url(first) != nil)
        let post = try #require(server.store.posts.post(titled: "Sea"))
        #expect(post.files.map(\.name) == ["a", "b"] && post.cover?.name == "a" && post.times == 2)
        #expect(post.url == url(first))
        #expect(server.store.posts.contradictions.isEmpty && server.store.violations.isEmpty)
        #expect(server.count(.commit) == 2)
    }

    @Test("finds a planted contradiction, and keeps the first commit")
    func contradiction() throws {
        let server = try FaultServer()
        let client = SectionClient(server: server)
        let ids = try client.upload(["a", "b"])
        let first = try client.commit(ids)
        #expect(try url(client.commit(ids, title: "Lake")) == url(first))
        #expect(server.store.posts.contradictions.count == 1 && server.store.violations.count == 1)
        #expect(server.store.posts.posts.values.map(\.payload.title) == ["Sea"])
    }

    @Test("stores another revision as another post")
    func revisions() throws {
        let server = try FaultServer()
        let client = SectionClient(server: server)
        let ids = try client.upload(["a", "b"])
        let first = try client.commit(Array(ids.prefix(1)))
        #expect(try url(client.commit(ids, revision: 2)) != url(first))
        #expect(server.store.posts.revisions(of: "s1").map(\.files.count) == [1, 2])
        #expect(server.store.posts.contradictions.isEmpty)
    }

    @Test("finds a planted commit of an unfinished file")
    func unfinished() throws {
        let server = try FaultServer()
        let client = SectionClient(server: server)
        #expect(try client.commit(client.upload(["a"], finish: false)).status == 409)
        #expect(server.store.violations.count == 1 && server.store.posts.posts.isEmpty)
    }

    @Test("answers 404 to the commit of a forgotten file, without a violation")
    func forgotten() throws {
        let server = try FaultServer()
        let client = SectionClient(server: server)
        let ids = try client.upload(["a"])
        server.change { store in ids.forEach { store.forget($0) } }
        #expect(try client.commit(ids).status == 404)
        #expect(server.store.violations.isEmpty && server.store.posts.posts.isEmpty)
    }

    @Test(
        "finds invalid values in a commit",
        arguments: [
            ("title", ""), ("sourceId", ""), ("cover", "4711"), ("createDate", "2026-11-21T09:30:00"),
            ("createDate", "21.11.2026"),
        ])
    func violation(member: String, value: String) throws {
        let server = try FaultServer()
        let client = SectionClient(server: server)
        #expect(try client.commit(client.upload(["a"]), [member: value]).status == 400)
        #expect(server.store.violations.count == 1)
    }

    @Test("stores a commit and then loses its reply")
    func lostReply() throws {
        let server = try FaultServer { endpoint, number in endpoint == .commit && number == 1 ? .lostReply : nil }
        let client = SectionClient(server: server)
        let ids = try client.upload(["a"])
        #expect(try client.commit(ids).status == nil)
        #expect(try client.commit(ids).status == 200)
        #expect(server.store.posts.post(titled: "Sea")?.times == 2)
    }

    @Test("answers a commit with any other fault, and then stores no post", arguments: [401, 404, 503])
    func fault(status: Int) throws {
        let server = try FaultServer { endpoint, _ in endpoint == .commit ? .status(status) : nil }
        let client = SectionClient(server: server)
        #expect(try client.commit(client.upload(["a"])).status == status)
        #expect(server.store.posts.posts.isEmpty && server.count(.commit) == 1)
    }

    @Test("fails to assemble the files named in the fault, and no others")
    func assembly() throws {
        let server = try FaultServer { endpoint, number in
            endpoint == .isFinish && number != 2 ? .assemblyFailedFor(["b", "c"]) : nil
        }
        let client = SectionClient(server: server)
        let ids = try client.upload(["a", "b"], finish: false)
        let question = ["fileIds": ids]
        #expect(try client.post("/fileSection/isFinish.do", question).data["failFileIds"] as? String == ids[1])
        _ = try client.sendBlock("b", id: ids[1])
        #expect(try client.post("/fileSection/isFinish.do", question).data["finishStatus"] as? Int == 1)
        #expect(server.store.lostBlocks == 1)
        // A finished file stays finished, although the third isFinish has the fault again.
        #expect(try client.post("/fileSection/isFinish.do", question).data["finishStatus"] as? Int == 1)
        #expect(server.store.violations.isEmpty)
    }

    // MARK: Users

    @Test("hides the files of one user from the others")
    func users() throws {
        let server = try FaultServer(tellsExisting: true, tokens: ["for-anna": "anna", "for-ben": "ben"])
        let anna = SectionClient(server: server, token: "for-anna")
        let ben = SectionClient(server: server, token: "for-ben")
        let ids = try anna.upload(["a"])
        #expect(try anna.upload(["a"]) == ids)
        #expect(try ben.commit(ids).status == 404)
        #expect(try ben.sendBlock("a", id: ids[0]).status == 404)
        #expect(try ben.post("/fileSection/isFinish.do", ["fileIds": ids]).status == 404)
        _ = try ben.post("/fileSection/delete.do", ["fileIds": ids])
        #expect(server.store.deleted.isEmpty)

        #expect(try ben.upload(["a"]) != ids)
        #expect(server.store.finishedByUser.mapValues(\.count) == ["anna": 1, "ben": 1])
        #expect(server.store.repeated == 0 && server.store.violations.isEmpty)
    }

    @Test("refuses an unknown or missing token", arguments: ["for-carl", nil])
    func unknownToken(token: String?) throws {
        let server = try FaultServer(tokens: ["for-anna": "anna"])
        #expect(try SectionClient(server: server, token: token).post("/fileSection/isFinish.do", [:]).status == 401)
        #expect(server.records.map(\.user) == [nil])
    }

    // MARK: Records

    @Test("records which files each request names")
    func records() throws {
        let server = try FaultServer()
        let client = SectionClient(server: server)
        let ids = try client.upload(["a", "b"])
        _ = try client.upload(["c"])
        _ = try client.post("/fileSection/delete.do", ["fileIds": [ids[1], "4711"]])
        #expect(server.registrations == [["a", "b"], ["c"]])
        #expect(server.questions == [["a", "b"], ["c"]])
        #expect(server.deletions == [["b", "4711"]])
    }

    @Test("records the files sent with each token, even after their deletion")
    func tokens() throws {
        let server = try FaultServer(tokens: ["for-anna": "anna", "for-ben": "ben"])
        let anna = SectionClient(server: server, token: "for-anna")
        let ben = SectionClient(server: server, token: "for-ben")
        let ids = try anna.upload(["a"])
        _ = try ben.upload(["b"])
        #expect(server.requests(with: "for-ben").flatMap(\.files).map(\.name) == ["b", "b", "b"])
        _ = try anna.post("/fileSection/delete.do", ["fileIds": ids])
        // A planted slip: Ben's token with Anna's file.
        _ = try ben.commit(ids)
        let slip = try #require(server.requests(with: "for-ben").last)
        #expect(slip.endpoint == .commit && slip.user == "ben" && slip.files.map(\.name) == ["a"])
        #expect(slip.files.map(\.md5) == [Digest.md5(Array("a".utf8))])
    }
}
