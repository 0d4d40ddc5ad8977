import Foundation
import Synchronization
import Testing

@testable import OutboxReceiver

/// The page at the server's own address.
@Suite struct OwnerPageTests {
    private static let tokens = "alice-token alice quota=1MiB, bob-token bob"

    /// Returns the name and value of the session's cookie.
    private static func signedIn(_ server: TestServer, _ token: String) throws -> String {
        let reply = try server.form("/sign-in", "token=\(token)")
        #expect(reply.status == 303)
        let cookie = try #require(reply.headers["set-cookie"])
        return String(cookie.prefix { $0 != ";" })
    }

    private static func page(_ server: TestServer, _ path: String = "/", cookie: String? = nil) throws -> String {
        let headers = cookie.map { ["Cookie": "a=b; \($0)"] } ?? [:]
        return String(decoding: try server.get(path, headers).body, as: UTF8.self)
    }

    @Test func withoutTokensThePageShowsTheFilesOfTheOneUser() async throws {
        try await TestServer.run { server in
            #expect(try Self.page(server).contains("Nothing has arrived yet."))
            let (id, url) = try server.upload(TestServer.content(4800), name: "beach <1>.jpg")
            let post = try server.commit([id], title: "A & B")
            let reply = try server.get("/")
            let page = String(decoding: reply.body, as: UTF8.self)
            #expect(page.contains("href=\".\(url)\""))
            #expect(page.contains("beach &lt;1&gt;.jpg"))
            #expect(page.contains("href=\".\(post)\""))
            #expect(page.contains("A &amp; B"))
            #expect(page.contains("9.2 kB stored"))
            #expect(!page.contains("sign-out"))
            #expect(!page.contains("<script"))
            #expect(reply.headers["cache-control"] == "private, no-store")
            #expect(reply.headers["content-security-policy"]?.contains("unsafe") == false)
            #expect(try server.form("/sign-in", "token=x").status == 404)
        }
    }

    @Test func strangersSeeAFormAndNothingOfAnybody() async throws {
        try await TestServer.run(configure: { $0.tokens = Self.tokens }) { server in
            try server.upload(TestServer.content(1000), name: "secret.jpg", token: "alice-token")
            for cookie in [nil, "outbox=", "outbox=\(Hex128.random())", "outbox=alice-token"] {
                let page = try Self.page(server, cookie: cookie)
                #expect(page.contains("action=\"./sign-in\""))
                #expect(!page.contains("alice") && !page.contains("secret.jpg"))
            }
        }
    }

    @Test func whoSignsInSeesOnlyTheirOwn() async throws {
        try await TestServer.run(configure: { $0.tokens = Self.tokens }) { server in
            let hers = try server.upload(TestServer.content(1000), name: "hers.jpg", token: "alice-token").id
            let his = try server.upload(TestServer.content(2000), name: "his.jpg", token: "bob-token").id
            _ = try server.commit([hers], title: "Her day", token: "alice-token")
            _ = try server.commit([his], title: "His day", token: "bob-token")
            let page = try Self.page(server, cookie: try Self.signedIn(server, "alice-token"))
            #expect(page.contains("hers.jpg") && page.contains("Her day"))
            #expect(!page.contains("his.jpg") && !page.contains("His day") && !page.contains("bob"))
            #expect(page.contains("6.2 kB of 1.0 MB used"))
        }
    }

    @Test func theCookieIsNotTheTokenAndStaysInTheBrowser() async throws {
        try await TestServer.run(
            configure: { ($0.tokens, $0.publicURL) = (Self.tokens, "https://photos.example.org/box") }
        ) { server in
            let reply = try server.form(
                "/sign-in", "token=alice-token", ["Origin": "https://photos.example.org"])
            let cookie = try #require(reply.headers["set-cookie"])
            let attributes = try #require(cookie.wholeMatch(of: /__Host-outbox=[0-9a-f]{32}; (.*)/)).output.1
            #expect(attributes == "Path=/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure")
            #expect(reply.headers["location"] == "./")
        }
    }

    @Test func whoSignedOutIsAStranger() async throws {
        try await TestServer.run(configure: { $0.tokens = Self.tokens }) { server in
            let cookie = try Self.signedIn(server, "alice-token")
            #expect(try Self.page(server, cookie: cookie).contains("sign-out"))
            #expect(try server.form("/sign-out", "", ["Cookie": cookie]).status == 303)
            #expect(try Self.page(server, cookie: cookie).contains("sign-in"))
        }
    }

    @Test(arguments: ["", "token=", "token=alice", "other=alice-token", "token=alice-token%00", "%%%"])
    func aWrongTokenGetsTheFormAgain(form: String) async throws {
        try await TestServer.run(configure: { $0.tokens = Self.tokens }) { server in
            let reply = try server.form("/sign-in", form)
            #expect(reply.status == 401)
            #expect(reply.headers["set-cookie"] == nil)
            #expect(String(decoding: reply.body, as: UTF8.self).contains("does not know this token"))
        }
    }

    @Test func tooManyWrongTokensMustWait() async throws {
        try await TestServer.run(configure: { $0.tokens = Self.tokens }) { server in
            let cookie = try Self.signedIn(server, "alice-token")
            for _ in 0..<Guesses.most { _ = try server.form("/sign-in", "token=x") }
            let reply = try server.form("/sign-in", "token=alice-token")
            #expect(reply.status == 429)
            #expect(reply.headers["retry-after"].flatMap { Int($0) }.map { (1...60).contains($0) } == true)
            #expect(try Self.page(server, cookie: cookie).contains("sign-out"), "sessions go on")
            #expect(try server.isFinish([], token: "alice-token").status == 200, "agents go on")
        }
    }

    @Test(arguments: [
        ["Origin": "https://evil.example"], ["Origin": "null"], ["Sec-Fetch-Site": "cross-site"],
        ["Sec-Fetch-Site": "same-site"],
    ])
    func formsOfOtherSitesAreRefused(headers: [String: String]) async throws {
        try await TestServer.run(configure: { $0.tokens = Self.tokens }) { server in
            let cookie = try Self.signedIn(server, "alice-token")
            #expect(try server.form("/sign-in", "token=alice-token", headers).status == 403)
            let signOut = headers.merging(["Cookie": cookie]) { $1 }
            #expect(try server.form("/sign-out", "", signOut).status == 403)
            #expect(try Self.page(server, cookie: cookie).contains("sign-out"))
        }
    }

    @Test(arguments: [["Origin": "http://127.0.0.1"], ["Sec-Fetch-Site": "same-origin", "Origin": "null"]])
    func formsOfThisPageAreTaken(headers: [String: String]) async throws {
        try await TestServer.run(configure: { $0.tokens = Self.tokens }) { server in
            let headers = headers.mapValues { $0.replacing("127.0.0.1", with: "127.0.0.1:\(server.port)") }
            let reply = try server.form("/sign-in", "token=alice-token", headers)
            #expect(reply.status == 303)
        }
    }

    @Test func aLongFormIsRefused() async throws {
        try await TestServer.run(configure: { $0.tokens = Self.tokens }) { server in
            let reply = try server.form("/sign-in", String(repeating: "x", count: 5000))
            #expect(reply.status == 413)
        }
    }

    // MARK: Lists

    @Test func filesAreListedNewestFirstAPageAtATimeAlsoAfterARestart() async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let clock = Mutex<Int64>(1_800_000_000)
        let now: @Sendable () -> Int64 = {
            clock.withLock { time in
                time += 1
                return time
            }
        }
        try await TestServer.run(root: root, configure: { $0.synchronizes = false }, now: now) { server in
            for number in 1...70 {
                try server.upload(TestServer.content(10, seed: UInt64(number)), name: "n\(number).jpg")
            }
        }
        try await TestServer.run(root: root, now: now) { server in
            let first = Self.names(try Self.page(server))
            #expect(first == (11...70).reversed().map { "n\($0).jpg" })
            #expect(try Self.page(server).contains("href=\"./?before=10\""))
            let second = try Self.page(server, "/?before=10")
            #expect(Self.names(second) == (1...10).reversed().map { "n\($0).jpg" })
            #expect(!second.contains("before="))
            #expect(Self.names(try Self.page(server, "/?before=-1")).isEmpty)
            #expect(Self.names(try Self.page(server, "/?before=x")) == first)
        }
    }

    private static func names(_ page: String) -> [String] {
        page.matches(of: /<bdi class="label">(n\d+\.jpg)</).map { String($0.output.1) }
    }

    @Test func postsAreListedByTheirDateAndHaveAPicture() async throws {
        try await TestServer.run(configure: { $0.mediaWorker = "/bin/true" }) { server in
            let video = try server.upload(TestServer.content(10), name: "v.mp4", type: "video/mp4").id
            let (picture, url) = try server.upload(TestServer.content(20), name: "p.heic", type: "image/heic")
            for day in 1...10 {
                let date = "2026-11-\(day < 10 ? "0" : "")\(day) 09:30:00"
                _ = try server.commit([video, picture], source: "s\(day)", title: "day \(day)", createDate: date)
            }
            let page = try Self.page(server)
            let titles = page.matches(of: /day (\d+)</).map { String($0.output.1) }
            #expect(titles == ["10", "9", "8", "7", "6", "5", "4", "3"])
            #expect(page.contains("src=\"./t/\(url.split(separator: "/")[1]).jpg\""))
            #expect(page.contains("href=\"./?posts=2\""))
            let older = try Self.page(server, "/?posts=2")
            #expect(older.matches(of: /day (\d+)</).map { String($0.output.1) } == ["2", "1"])
            #expect(!older.contains("p.heic"))

            // A later revision with a later date moves its post to the front.
            _ = try server.commit(
                [video], source: "s1", revision: 2, title: "day 99", createDate: "2026-12-24 18:00:00")
            #expect(try Self.page(server).firstMatch(of: /day (\d+)</)?.output.1 == "99")
        }
    }

    @Test func filesThatAreGoneAreLeftOut() async throws {
        try await TestServer.run { server in
            let content = TestServer.content(10)
            try server.upload(content, name: "gone.jpg")
            let md5 = TestServer.md5(content)
            try FileManager.default.removeItem(at: server.root.appending(path: "objects/\(md5.prefix(2))/\(md5)"))
            #expect(!(try Self.page(server).contains("gone.jpg")))
        }
    }

    @Test func contentsOfAnOlderVersionAreDatedByTheirIDs() {
        var catalog = Catalog()
        let plan = UploadPlan(
            user: "a", size: 1, md5: .random(), fileName: "f", path: nil, type: "image/jpeg", modified: nil)
        func content(_ md5: Hex128, at time: Int64?) -> Content {
            let key = ContentKey(user: "a", md5: md5, size: 1)
            return Content(
                key: key, token: .random(), object: ObjectName(md5: md5, variant: 0), name: "n", type: "image/jpeg",
                at: time)
        }
        let (old, dated, new) = (content(plan.md5, at: nil), content(.random(), at: nil), content(.random(), at: 9))
        for content in [new, dated, old] { catalog.add(content) }
        catalog.add(.random(), Catalog.FinishedID(user: "a", content: dated.token, at: 5))
        catalog.dateContents()
        let page = catalog.arrivals(of: "a", before: nil, count: 5)
        #expect(page.0.tokens == [new.token, dated.token, old.token])
        #expect(catalog.contents[dated.token]?.at == 5)
    }
}
