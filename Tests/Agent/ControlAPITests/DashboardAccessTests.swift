import HTTPTypes
import Testing

@testable import ControlAPI

@Suite("Access to the dashboard")
struct DashboardAccessTests {
    private typealias Visit = DashboardAccess.Visit
    private typealias Verdict = DashboardAccess.Verdict

    private static let keys = DashboardKeys()
    private static let host = "127.0.0.1:8788"
    private static var cookie: String { "outbox-8788=\(keys.cookie)" }
    private static let access = DashboardAccess(host: "127.0.0.1", port: 8788, keys: keys)

    /// A request of the page itself.
    private static func visit(_ change: (inout Visit) -> Void = { _ in }) -> Visit {
        var visit = Visit(path: "/v1/files", host: host, cookies: [cookie])
        change(&visit)
        return visit
    }

    /// A request of the page itself that changes something.
    private static func change(_ change: (inout Visit) -> Void = { _ in }) -> Visit {
        visit { visit in
            visit.method = .post
            visit.path = "/v1/pause"
            visit.origin = "http://\(host)"
            visit.fetchSite = "same-origin"
            change(&visit)
        }
    }

    @Test(
        "Only requests for the address or localhost, with the port, are served",
        arguments: [
            ("127.0.0.1:8788", true), ("localhost:8788", true), ("LocalHost:8788", true),
            ("127.0.0.1", false), ("localhost", false), ("127.0.0.1:8789", false), ("evil.org", false),
            ("evil.org:8788", false), ("127.0.0.1.evil.org:8788", false), ("localhost.:8788", false),
            ("[::1]:8788", false), ("127.0.0.2:8788", false), ("", false), ("127.0.0.1:8788 ", false),
            ("user@127.0.0.1:8788", false),
        ])
    func host(host: String, isServed: Bool) {
        let verdict = Self.access.judge(Self.visit { $0.host = host })
        #expect(verdict == (isServed ? .serve : .refuse(.foreignHost)))
    }

    @Test("localhost is refused if another program may listen at its other address")
    func foreignLocalhost() {
        let access = DashboardAccess(host: "127.0.0.1", port: 8788, keys: Self.keys, servesLocalhost: false)
        #expect(access.judge(Self.visit { $0.host = "localhost:8788" }) == .refuse(.foreignHost))
        #expect(access.judge(Visit(path: "/open/\(Self.keys.secret)", host: "localhost:8788")) == .refuse(.foreignHost))
        #expect(access.judge(Self.visit()) == .serve)
    }

    @Test("The token for metrics opens nothing else")
    func metricsToken() {
        func judge(_ path: String, _ token: String, _ metricsToken: String?) -> Verdict {
            let visit = Visit(path: path, host: Self.host, authorization: "Bearer \(token)")
            return Self.access.judge(visit, metricsToken: metricsToken)
        }
        #expect(judge("/metrics", "m", "m") == .serve)
        #expect(judge("/metrics", "n", "m") == .refuse(.noCookie))
        #expect(judge("/metrics", "m", nil) == .refuse(.noCookie))
        #expect(judge("/v1/health", "m", "m") == .refuse(.noCookie))
        #expect(judge("/metrics", Self.keys.secret, nil) == .serve)
    }

    @Test("A request without a host is refused, and so is the secret URL for another host")
    func foreignHost() {
        #expect(Self.access.judge(Self.visit { $0.host = nil }) == .refuse(.foreignHost))
        let visit = Visit(path: "/open/\(Self.keys.secret)", host: "evil.org:8788")
        #expect(Self.access.judge(visit) == .refuse(.foreignHost))
    }

    @Test("An IPv6 address stands in brackets, and port 80 may be left out")
    func otherAddresses() {
        let six = DashboardAccess(host: "[::1]", port: 80, keys: Self.keys)
        for host in ["[::1]", "[::1]:80", "localhost"] {
            #expect(six.judge(Visit(host: host, cookies: ["outbox-80=\(Self.keys.cookie)"])) == .serve)
        }
        #expect(six.judge(Visit(host: "::1", cookies: ["outbox-80=\(Self.keys.cookie)"])) == .refuse(.foreignHost))
    }

    @Test("The secret URL lets a browser in, and nothing like it does")
    func door() {
        let secret = Self.keys.secret
        #expect(Self.access.url == "http://127.0.0.1:8788/open/\(secret)")
        #expect(Self.access.judge(Visit(path: "/open/\(secret)", host: Self.host)) == .welcome)
        for path in [
            "/open/", "/open/\(secret.dropLast())", "/open/\(secret)0", "/open/\(secret)/", "/open/\(Self.keys.cookie)",
            "/\(secret)", "/open/\(String(repeating: "0", count: secret.count))",
        ] {
            #expect(Self.access.judge(Visit(path: path, host: Self.host)) == .refuse(.noCookie), "\(path)")
        }
        #expect(
            Self.access.judge(Visit(method: .post, path: "/open/\(secret)", host: Self.host)) == .refuse(.noCookie))
    }

    @Test("The cookie is closed to scripts and to other sites, and has the port in its name")
    func setCookie() {
        #expect(Self.access.setCookie == "outbox-8788=\(Self.keys.cookie); HttpOnly; SameSite=Strict; Path=/")
    }

    @Test("Only the cookie of this run and port is good")
    func cookies() {
        let cookie = Self.keys.cookie
        let good = [
            [Self.cookie], ["a=b; \(Self.cookie)"], ["\(Self.cookie); a=b"], ["a=b", Self.cookie],
            ["outbox-8788=old; \(Self.cookie)"],
        ]
        for cookies in good { #expect(Self.access.judge(Self.visit { $0.cookies = cookies }) == .serve, "\(cookies)") }
        let bad = [
            [], [""], ["outbox-8788="], ["outbox-8788"], [cookie], ["outbox-8789=\(cookie)"], ["outbox=\(cookie)"],
            ["xoutbox-8788=\(cookie)"], ["outbox-8788=\(cookie)0"], ["outbox-8788=\(cookie.dropLast())"],
            ["outbox-8788=\(Self.keys.secret)"], ["outbox-8788=\(DashboardKeys().cookie)"],
        ]
        for cookies in bad {
            for path in ["/", "/v1/files", "/v1/avatar", "/v1/events", "/metrics", "/v1/health", "/dashboard.js"] {
                let visit = Self.visit { visit in
                    visit.cookies = cookies
                    visit.path = path
                }
                #expect(Self.access.judge(visit) == .refuse(.noCookie), "\(cookies) \(path)")
            }
        }
    }

    @Test("Another page can change nothing, whatever the cookie")
    func foreignOrigin() {
        #expect(Self.access.judge(Self.change()) == .serve)
        // A program such as curl sends neither field.
        #expect(Self.access.judge(Self.change { ($0.origin, $0.fetchSite) = (nil, nil) }) == .serve)
        #expect(Self.access.judge(Self.change { $0.fetchSite = "none" }) == .serve)
        for origin in [
            "http://evil.org", "null", "", "https://127.0.0.1:8788", "http://127.0.0.1:8789", "http://127.0.0.1",
            "http://localhost:8788", "http://127.0.0.1:8788.evil.org", "file://",
        ] {
            for method in [HTTPRequest.Method.post, .delete, .put, .patch] {
                let visit = Self.change { ($0.origin, $0.method, $0.fetchSite) = (origin, method, nil) }
                #expect(Self.access.judge(visit) == .refuse(.foreignOrigin), "\(origin) \(method)")
            }
        }
        for site in ["cross-site", "same-site", ""] {
            let visit = Self.change { ($0.origin, $0.fetchSite) = (nil, site) }
            #expect(Self.access.judge(visit) == .refuse(.foreignOrigin), "\(site)")
        }
        // The page opened as `localhost` is another origin.
        let local = Self.change { ($0.host, $0.origin) = ("localhost:8788", "http://localhost:8788") }
        #expect(Self.access.judge(local) == .serve)
    }

    @Test(
        "Pages elsewhere may lead to the page and to the secret URL, and read nothing",
        arguments: ["cross-site", "same-site"])
    func readingFromOtherPages(site: String) {
        func verdict(_ path: String) -> Verdict {
            Self.access.judge(Self.visit { ($0.path, $0.fetchSite) = (path, site) })
        }
        #expect(verdict("/") == .serve)
        #expect(verdict("/open/\(Self.keys.secret)") == .welcome)
        for path in ["/v1/avatar", "/v1/files", "/files.js"] {
            #expect(verdict(path) == .refuse(.foreignOrigin), "\(path)")
        }
    }

    @Test("The secret is a token for metrics and health, and for nothing else")
    func token() {
        func verdict(_ path: String, _ authorization: String, _ method: HTTPRequest.Method = .get) -> Verdict {
            Self.access.judge(Visit(method: method, path: path, host: Self.host, authorization: authorization))
        }
        let secret = Self.keys.secret
        for path in ["/metrics", "/v1/health"] {
            #expect(verdict(path, "Bearer \(secret)") == .serve)
            #expect(verdict(path, "bearer \(secret)", .head) == .serve)
            for wrong in ["Bearer \(Self.keys.cookie)", "Basic \(secret)", secret, "Bearer", "Bearer \(secret) x"] {
                #expect(verdict(path, wrong) == .refuse(.noCookie), "\(wrong)")
            }
        }
        for path in ["/", "/v1/files", "/v1/health/", "/v1/avatar", "/v1/events"] {
            #expect(verdict(path, "Bearer \(secret)") == .refuse(.noCookie), "\(path)")
        }
        #expect(verdict("/v1/pause", "Bearer \(secret)", .post) == .refuse(.noCookie))
    }

    @Test("Keys have 128 bits each, are new each time, and differ")
    func keys() {
        let (one, other) = (DashboardKeys(), DashboardKeys())
        for key in [one.secret, one.cookie, other.secret, other.cookie] {
            #expect(key.count == 32 && key.allSatisfy(\.isHexDigit))
        }
        #expect(Set([one.secret, one.cookie, other.secret, other.cookie]).count == 4)
    }

    @Test(
        "The address is read from the configuration",
        arguments: [
            ("127.0.0.1:8788", "127.0.0.1:8788"), ("localhost:80", "127.0.0.1:80"), ("[::1]:0", "[::1]:0"),
            ("[0::0:1]:8788", "[::1]:8788"), ("127.8.7.88:8788", "127.8.7.88:8788"), ("", nil), ("10.0.0.1:80", nil),
        ])
    func address(text: String, shown: String?) {
        #expect(DashboardAddress(text)?.description == shown)
    }
}
