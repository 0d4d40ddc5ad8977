import Foundation
import Logging
import Testing

@testable import OutboxReceiver

/// The search field of the page at the server's own address.
@Suite struct OwnerSearchTests {
    private static func reply(
        _ server: TestServer, _ text: String, cookie: String? = nil
    ) throws -> (status: Int, page: String) {
        let query = Links.encoded(text)
        let reply = try server.get("/?q=\(query)", cookie.map { ["Cookie": $0] } ?? [:])
        return (reply.status, String(decoding: reply.body, as: UTF8.self))
    }

    private static func names(_ page: String) -> [String] {
        page.matches(of: /<bdi class="label">([^<]+)</).map { String($0.output.1) }
    }

    @Test func theFieldIsAFormWithoutAScript() async throws {
        try await TestServer.run { server in
            #expect(!(try server.page("/").contains("name=\"q\"")), "there is nothing to find")
            try server.upload(TestServer.content(10), name: "beach.jpg")
            let reply = try server.get("/")
            let page = String(decoding: reply.body, as: UTF8.self)
            #expect(page.contains("method=\"get\" action=\"./\""))
            #expect(page.contains("name=\"q\" value=\"\""))
            #expect(!page.contains("<script"))
            #expect(reply.headers["content-security-policy"]?.contains("form-action 'self'") == true)
        }
    }

    @Test func filesAreFoundByNameAndPathNewestFirst() async throws {
        try await TestServer.run { server in
            for (number, path) in ["trip/beach.jpg", "home/BEACH.jpg", "trip/sea.jpg"].enumerated() {
                let name = try #require(path.split(separator: "/").last)
                try server.upload(
                    TestServer.content(10, seed: UInt64(number + 1)), name: String(name), path: path)
            }
            let beaches = try Self.reply(server, " beach.jpg ")
            #expect(beaches.status == 200)
            #expect(beaches.page.contains("2 files match<"))
            #expect(Set(Self.names(beaches.page)) == ["beach.jpg", "BEACH.jpg"])
            #expect(beaches.page.contains("value=\"beach.jpg\""))
            let trip = try Self.reply(server, "trip/beach.jpg").page
            #expect(trip.contains("1 file matches<"))
            #expect(Self.names(trip) == ["beach.jpg"])
            #expect(Self.names(try Self.reply(server, "TRIP/*").page).count == 2)
            // A form writes a space as a plus sign.
            try server.upload(TestServer.content(20), name: "my beach.jpg")
            #expect(Self.names(try server.page("/?q=my+beach.jpg")) == ["my beach.jpg"])
        }
    }

    @Test(arguments: ["nothing.jpg", "each.jpg", "/", "\"'><script>alert(1)</script>", "*\u{0}", "<b>"])
    func whatMatchesNothingIsShownAsText(text: String) async throws {
        try await TestServer.run { server in
            try server.upload(TestServer.content(10), name: "beach.jpg")
            let (status, page) = try Self.reply(server, text)
            #expect(status == 200)
            #expect(page.contains("Nothing matches"))
            #expect(Self.names(page).isEmpty)
            #expect(!page.contains("<script") && !page.contains("<b>") && !page.contains("\u{0}"))
            #expect(page.contains("value=\"\(HTMLText.escaped(text))\""))
        }
    }

    @Test(arguments: ["/?q=", "/?q=+", "/?q", "/?q=%20%09", "/?p=beach.jpg"])
    func withoutATextThePageIsTheUsualOne(path: String) async throws {
        try await TestServer.run { server in
            try server.upload(TestServer.content(10), name: "beach.jpg")
            let page = try server.page(path)
            #expect(page.contains("Latest files"))
            #expect(Self.names(page) == ["beach.jpg"])
        }
    }

    @Test func aLongTextIsRefused() async throws {
        try await TestServer.run { server in
            try server.upload(TestServer.content(10), name: "beach.jpg")
            #expect(try Self.reply(server, String(repeating: "*", count: 256)).status == 200)
            // 129 characters of two bytes.
            let (status, page) = try Self.reply(server, String(repeating: "é", count: 129))
            #expect(status == 400)
            #expect(page.contains("more than 256 bytes"))
        }
    }

    @Test func filesOfOthersAreNeverFound() async throws {
        try await TestServer.run(configure: { $0.tokens = "a-token alice, b-token bob" }) { server in
            try server.upload(TestServer.content(10), name: "hers.jpg", token: "a-token")
            try server.upload(TestServer.content(20), name: "his.jpg", token: "b-token")
            let reply = try server.form("/sign-in", "token=a-token")
            let cookie = try #require(reply.headers["set-cookie"].map { String($0.prefix { $0 != ";" }) })
            #expect(Self.names(try Self.reply(server, "*", cookie: cookie).page) == ["hers.jpg"])
            #expect(try Self.reply(server, "his.jpg", cookie: cookie).page.contains("Nothing matches"))
            let stranger = try Self.reply(server, "hers.jpg").page
            #expect(stranger.contains("action=\"./sign-in\""))
            #expect(!stranger.contains("hers.jpg") && !stranger.contains("match"))
        }
    }

    @Test func filesThatAreGoneAreNotFound() async throws {
        try await TestServer.run { server in
            let content = TestServer.content(10)
            try server.upload(content, name: "gone.jpg")
            let md5 = TestServer.md5(content)
            try FileManager.default.removeItem(at: server.root.appending(path: "objects/\(md5.prefix(2))/\(md5)"))
            #expect(try Self.reply(server, "gone.jpg").page.contains("Nothing matches"))
        }
    }

    @Test func ofManyFilesTheNewestAreShown() async throws {
        try await TestServer.run(configure: { $0.synchronizes = false }) { server in
            for number in 1...62 {
                try server.upload(TestServer.content(10, seed: UInt64(number)), name: "n\(number).jpg")
            }
            let page = try Self.reply(server, "n*.jpg").page
            #expect(page.contains("62 files match; the newest are shown<"))
            #expect(Self.names(page).count == OwnerPage.size)
        }
    }

    @Test func allPartsOfALargeCatalogAreSearched() async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "receiver-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let store = try Store(
            path: root.path,
            limits: Store.Limits(freeSpaceFloor: 0, maximumFileSize: 1 << 30, maximumOpenUploads: 10),
            synchronizes: false, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, now: { 1000 })
        let contents = (0..<10_000).map { number in
            let md5 = Hex128.random()
            return Content(
                key: ContentKey(user: "a", md5: md5, size: 1), token: .random(),
                object: ObjectName(md5: md5, variant: 0), name: "n\(number).jpg", type: "image/jpeg",
                at: Int64(number))
        }
        store.withBooks { books in
            for content in contents { books.catalog.add(content) }
        }
        // Only the first, the last and one in between have objects.
        for index in [0, 5000, 9999] {
            try Data("x".utf8).write(to: root.appending(path: "objects/\(contents[index].object.path)"))
        }
        let all = try #require(NamePattern("n*.jpg"))
        let found = await store.search(all, of: "a", count: 60)
        #expect(found.items.map(\.name) == ["n9999.jpg", "n5000.jpg", "n0.jpg"])
        #expect(found.total == 3)
        // Beyond the items that are shown, matches are only counted.
        #expect(await store.search(all, of: "a", count: 1).total == 10_000)
        #expect(await store.search(all, of: "b", count: 60).total == 0)
    }
}
