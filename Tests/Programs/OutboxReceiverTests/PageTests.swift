import Foundation
import Testing

@testable import OutboxReceiver

@Suite struct PageTests {
    private static let hostile = "\"'><script>alert(1)<script> & \u{202e}gpj"

    @Test func whatAUserWroteIsTextAndNothingElse() async throws {
        try await TestServer.run { server in
            let picture = try server.upload(TestServer.content(10), name: "\(Self.hostile).jpg").id
            let video = try server.upload(TestServer.content(20), name: "\(Self.hostile).mp4", type: "video/mp4").id
            let other = try server.upload(TestServer.content(30), name: "\(Self.hostile).txt", type: "text/plain").id
            let path = try server.commit([picture, video, other], title: Self.hostile + "\u{0}")
            let page = try server.page(path)
            #expect(!page.contains("<script"))
            #expect(!page.contains("\u{0}"))
            #expect(!page.contains("\"'>"))
            #expect(page.components(separatedBy: "&quot;&#39;&gt;&lt;script&gt;").count > 4)
        }
    }

    @Test func theCoverComesFirstAndLinksGoToThePublicURL() async throws {
        try await TestServer.run(configure: { $0.publicURL = "https://photos.example.org/box/" }) { server in
            let ids = try (1...3).map { try server.upload(TestServer.content($0 * 10), name: "\($0).jpg").id }
            let path = try server.commit(ids, cover: ids[1])
            let pagePath = try #require(path.range(of: "/s/")).lowerBound
            let reply = try server.get(String(path[pagePath...]))
            let page = String(decoding: reply.body, as: UTF8.self)
            let names = page.matches(
                of: /<img src="https:\/\/photos\.example\.org\/box\/f\/[0-9a-f]{32}\/(.)\.jpg" alt="..jpg"/)
            #expect(names.map { String($0.output.1) } == ["2", "1", "3"])
            #expect(page.contains("3 files"))
            let policy = try #require(reply.headers["content-security-policy"])
            #expect(policy.hasPrefix("default-src 'none'; img-src https://photos.example.org/box/f/; "))
        }
    }

    @Test func thePageLetsNothingOutAndNothingIn() async throws {
        try await TestServer.run { server in
            let path = try server.commit([try server.upload(TestServer.content(10)).id])
            let headers = try server.get(path).headers
            #expect(headers["x-content-type-options"] == "nosniff")
            #expect(headers["referrer-policy"] == "no-referrer")
            #expect(headers["x-robots-tag"] == "noindex, nofollow")
            #expect(headers["content-security-policy"]?.contains("unsafe") == false)
        }
    }

    @Test func aPictureThatFewBrowsersShowHasItsNameAndSizeBehindIt() async throws {
        try await TestServer.run { server in
            let id = try server.upload(TestServer.content(4800), name: "sea.heic", type: "image/heic").id
            let page = try server.page(try server.commit([id]))
            #expect(page.contains("<span class=\"name\"><bdi>sea.heic</bdi><small>4.8 kB</small></span><picture>"))
            #expect(page.contains("<source type=\"image/heic\""))
        }
    }

    @Test(arguments: [("beach.jpg", "image/jpeg"), ("sea.heic", "image/heic")])
    func tilesShowSmallVersionsWhereTheyCanBeDrawn(name: String, type: String) async throws {
        try await TestServer.run(configure: { $0.mediaWorker = "/bin/true" }) { server in
            let cover = try server.upload(TestServer.content(10), name: "cover.jpg").id
            let (id, url) = try server.upload(TestServer.content(20), name: name, type: type)
            // /f/TOKEN/NAME
            let token = url.split(separator: "/")[1]
            let reply = try server.get(try server.commit([cover, id]))
            let page = String(decoding: reply.body, as: UTF8.self)
            #expect(page.contains("<img src=\"http://127.0.0.1:\(server.port)/t/\(token).jpg\""))
            #expect(reply.headers["content-security-policy"]?.contains("/t/") == true)
        }
    }

    @Test func theSmallVersionOfARemovedPictureIsNotServed() async throws {
        try await TestServer.run(configure: { $0.mediaWorker = "/bin/true" }) { server in
            let content = TestServer.content(20)
            let (_, url) = try server.upload(content, name: "sea.heic", type: "image/heic")
            let token = url.split(separator: "/")[1]
            let small = server.root.appending(path: "thumbnails/\(token).jpg")
            try Data("drawn".utf8).write(to: small)
            #expect(try server.get("/t/\(token).jpg").body.elementsEqual("drawn".utf8))
            let md5 = TestServer.md5(content)
            try FileManager.default.removeItem(at: server.root.appending(path: "objects/\(md5.prefix(2))/\(md5)"))
            #expect(try server.get("/t/\(token).jpg").status == 404)
        }
    }

    @Test func anUnchangedPageIsNotSentAgain() async throws {
        try await TestServer.run { server in
            let id = try server.upload(TestServer.content(10)).id
            let path = try server.commit([id])
            let tag = try #require(try server.get(path, method: "HEAD").headers["etag"])
            #expect(try server.get(path, ["If-None-Match": tag]).status == 304)
            _ = try server.commit([id], revision: 2)
            #expect(try server.get(path, ["If-None-Match": tag]).status == 200)
        }
    }

    @Test func contentThatIsGoneIsLeftOut() async throws {
        try await TestServer.run { server in
            let kept = try server.upload(TestServer.content(10), name: "kept.jpg").id
            let gone = try server.upload(TestServer.content(20), name: "gone.jpg").id
            let path = try server.commit([kept, gone])
            let md5 = TestServer.md5(TestServer.content(20))
            try FileManager.default.removeItem(at: server.root.appending(path: "objects/\(md5.prefix(2))/\(md5)"))
            let page = try server.page(path)
            #expect(page.contains("kept.jpg"))
            #expect(!page.contains("gone.jpg"))
            #expect(page.contains("1 file,"))
        }
    }

    @Test(arguments: [
        (
            "2026-11-21 09:30:00",
            "<time datetime=\"2026-11-21T09:30:00Z\" title=\"2026-11-21 09:30:00 UTC\">21 November 2026</time>"
        ),
        ("2026-02-29 09:30:00", "<span>2026-02-29 09:30:00</span>"),
        ("\"><script>", "<span>&quot;&gt;&lt;script&gt;</span>"),
        ("2026-13-21 09:30:00", "<span>2026-13-21 09:30:00</span>"),
        ("2026-11-21T\"9:30:00", "<span>2026-11-21T&quot;9:30:00</span>"),
    ])
    func datesAreReadWhereTheyAreDates(text: String, html: String) {
        #expect(PostDate.html(text) == html)
    }

    @Test(arguments: [
        (0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (9_949, "9.9 kB"), (99_951, "100 kB"),
        (999_499, "999 kB"), (999_500, "1.0 MB"), (4_834_205, "4.8 MB"), (12_000_000_000_000, "12.0 TB"),
    ])
    func sizesAreForPeople(bytes: Int64, text: String) {
        #expect(FileSize.text(bytes) == text)
    }
}
