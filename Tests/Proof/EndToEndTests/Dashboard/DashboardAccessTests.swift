import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

/// What other users, other pages and other programs can do at the dashboard's address.
@Suite("Access to the dashboard", .agents)
struct DashboardAccessTests {
    private static let nowhere = "http://127.0.0.1:1"

    private func agent(_ address: String = "127.0.0.1:0") throws -> Agent {
        try Agent(remote: Self.nowhere, ["control.dashboard": .string(address)])
    }

    @Test(
        "only outbox dashboard prints the secret URL, which lets a browser in; its file is private and goes with the agent"
    )
    func door() async throws {
        let agent = try agent()
        try await agent.start()
        let browser = try await Browser.inside(agent)
        let cookie = try #require(browser.cookie)
        #expect(cookie.hasPrefix("outbox-\(browser.port)="))
        #expect(try await agent.command("dashboard").standardOutput == "\(browser.url)\n")
        #expect(try await agent.command("dashboard", "--json").standardOutput.contains(browser.secret))
        #expect(try await agent.command("status").standardOutput.contains("dashboard: run `outbox dashboard`\n"))
        let status = try await agent.command("status", "--json").standardOutput
        #expect(status.contains("\"\(browser.base)/\"") && !status.contains(browser.secret), "\(status)")
        #expect(agent.log.contains("outbox dashboard") && !agent.log.contains(browser.secret))
        let doctor = try await agent.command("doctor").standardOutput
        #expect(doctor.contains("\(browser.base) answers") && !doctor.contains(browser.secret), "\(doctor)")
        var file = stat()
        #expect(stat("\(agent.state)/dashboard-url", &file) == 0 && file.st_mode & 0o7777 == 0o600)

        let page = try await browser.ask("GET", "/")
        #expect(page.status == 200 && page.body.contains("<!doctype html>"), "\(page)")
        #expect(page.field("Content-Type")?.hasPrefix("text/html") == true)
        #expect(try await browser.ask("GET", "/v1/files").status == 200)
        #expect(try await browser.ask("POST", "/v1/pause", fields: ["Origin: \(browser.base)"]).status == 200)
        #expect(try await browser.ask("GET", "/v1/configuration").body.contains("control.dashboard"))

        for name in ["dashboard", "configuration", "errors"] {
            #expect(page.body.contains("\"/docs/\(name).md\""))
            let document = try await browser.ask("GET", "/docs/\(name).md")
            #expect(document.status == 200 && document.body.hasPrefix("# "), "\(document)")
        }
        for name in ["..%2FREADME.md", "dashboard/overview.png", "nothing.md", "agent.toml"] {
            #expect(try await browser.ask("GET", "/docs/\(name)").status == 404, "\(name)")
        }

        try await agent.stop()
        #expect(!FileManager.default.fileExists(atPath: "\(agent.state)/dashboard-url"))
        #expect(try await !agent.command("status").standardOutput.contains("dashboard:"))
        let closed = try await agent.command("dashboard")
        #expect(closed.code == 69 && closed.standardOutput.isEmpty, "\(closed)")
        try await agent.start()
        let next = try await Browser(agent)
        #expect(next.secret != browser.secret)
        let old = try await next.ask("GET", "/v1/files", fields: ["Cookie: \(cookie)"])
        #expect(old.status == 401, "\(old)")
    }

    @Test("outbox dashboard --open leads a browser to the page without the secret in its arguments")
    func opener() async throws {
        let agent = try agent()
        try await agent.start()
        let browser = try await Browser(agent)
        func open(path: String) async throws -> Program.Output {
            try await Program.run(
                try Program.path(of: "outbox"), ["dashboard", "--open", "--config", agent.config],
                environment: ["PATH": path, "HOME": agent.directory.path], directory: agent.directory.path)
        }
        let without = try await open(path: agent.directory.path)
        #expect(without.code == 69 && without.standardError.contains("xdg-open"), "\(without)")

        let opener = agent.directory.path("xdg-open")
        try Files.write(Array("#!/bin/sh\nstat -c %a \"$1\" && echo \"$1\" && cat \"$1\"\n".utf8), to: opener)
        chmod(opener, 0o755)
        let opened = try await open(path: "\(agent.directory.path):/usr/bin:/bin")
        let lines = opened.standardOutput.split(separator: "\n")
        #expect(opened.code == 0 && lines.first == "600" && !lines[1].contains(browser.secret), "\(opened)")
        #expect(opened.standardOutput.contains("url=\(browser.url)\""), "\(opened)")
        // The page leads on, since the browser withholds the new cookie from a redirect that another page caused.
        let next = try await browser.ask(
            "GET", "/", fields: ["Sec-Fetch-Site: cross-site", "Accept: text/html"])
        #expect(next.status == 401 && next.body.contains("http-equiv=\"refresh\" content=\"0; url=/\""), "\(next)")
        let typed = try await browser.ask("GET", "/", fields: ["Sec-Fetch-Site: same-origin", "Accept: text/html"])
        #expect(typed.status == 401 && !typed.body.contains("http-equiv=\"refresh\""), "\(typed)")
        try await agent.stop()
        #expect(!FileManager.default.fileExists(atPath: "\(agent.state)/dashboard.html"))
    }

    @Test("connections of others, however many, don't keep the owner out")
    func manyConnections() async throws {
        let agent = try agent()
        try await agent.start()
        let browser = try await Browser.inside(agent)
        let port = try #require(Int(browser.port))
        let strangers = try (0..<100).map { _ in try ReceiverClient(port: port) }
        // Less than the time after which the agent closes idle connections.
        let reply = try await browser.ask("GET", "/v1/files", options: ["--max-time", "45"])
        #expect(reply.status == 200, "\(reply)")
        withExtendedLifetime(strangers) {}
    }

    @Test("without the cookie nothing is served, and neither is the cookie of another port or agent enough")
    func cookies() async throws {
        let (agent, other) = (try agent(), try agent())
        try await agent.start()
        try await other.start()
        let stranger = try await Browser(agent)
        let foreign = try #require(try await Browser.inside(other).cookie)
        let value = foreign.drop { $0 != "=" }
        for path in [
            "/", "/dashboard.js", "/dashboard.css", "/icon.svg", "/v1/files", "/v1/health", "/metrics", "/v1/events",
            "/v1/avatar?url=http://example.org/a.jpg", "/v1/profile", "/v1/configuration",
            "/docs/errors.md", "/nothing",
        ] {
            for cookie in ["", foreign, "outbox-\(stranger.port)\(value)"] {
                let reply = try await stranger.ask("GET", path, fields: ["Cookie: \(cookie)"])
                #expect(reply.status == 401, "\(path) \(cookie): \(reply)")
            }
        }
        #expect(try await stranger.ask("GET", "/open/\(String(repeating: "0", count: 32))").status == 401)
        #expect(try await stranger.ask("POST", "/v1/pause").status == 401)
        let page = try await stranger.ask("GET", "/", fields: ["Accept: text/html"])
        #expect(page.status == 401 && page.body.contains("outbox dashboard"), "\(page)")
    }

    @Test("another host name is refused even with the cookie (DNS rebinding)")
    func rebinding() async throws {
        let agent = try agent()
        try await agent.start()
        let browser = try await Browser.inside(agent)
        for host in ["evil.org", "evil.org:\(browser.port)", "127.0.0.1", "127.0.0.1.evil.org:\(browser.port)"] {
            for path in ["/", "/v1/files", "/open/\(browser.secret)"] {
                let reply = try await browser.ask("GET", path, fields: ["Host: \(host)"])
                #expect(reply.status == 403 && reply.body.contains("foreign_host"), "\(host): \(reply)")
                #expect(reply.field("Set-Cookie") == nil)
            }
        }
        #expect(try await browser.ask("GET", "/v1/files", fields: ["Host: localhost:\(browser.port)"]).status == 200)
    }

    @Test("another page changes nothing, even with the cookie")
    func foreignOrigin() async throws {
        let agent = try agent()
        try await agent.start()
        let browser = try await Browser.inside(agent)
        for field in [
            "Origin: http://evil.org", "Origin: null", "Origin: http://127.0.0.1:9", "Sec-Fetch-Site: cross-site",
            "Sec-Fetch-Site: same-site",
        ] {
            for (method, path) in [("POST", "/v1/pause"), ("DELETE", "/v1/avatars"), ("POST", "/v1/drop?name=a.jpg")] {
                let reply = try await browser.ask(method, path, fields: [field])
                #expect(reply.status == 403 && reply.body.contains("foreign_origin"), "\(field): \(reply)")
            }
        }
        #expect(try await browser.ask("GET", "/v1/health").body.contains("\"paused\":false"))
        let preflight = try await browser.ask("OPTIONS", "/v1/pause", fields: ["Origin: http://evil.org"])
        #expect(preflight.field("Access-Control-Allow-Origin") == nil)
    }

    @Test("no page may frame the dashboard, and its own may load nothing foreign")
    func headers() async throws {
        let agent = try agent()
        try await agent.start()
        let (stranger, browser) = (try await Browser(agent), try await Browser.inside(agent))
        for reply in [
            try await browser.ask("GET", "/"), try await browser.ask("GET", "/v1/files"),
            try await stranger.ask("GET", "/"), try await stranger.ask("GET", "/", fields: ["Host: evil.org"]),
        ] {
            let policy = reply.field("Content-Security-Policy") ?? ""
            for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"] {
                #expect(policy.contains(part), "\(reply)")
            }
            #expect(!policy.contains("unsafe"))
            #expect(reply.field("X-Frame-Options") == "DENY")
            #expect(reply.field("X-Content-Type-Options") == "nosniff")
            #expect(reply.field("Referrer-Policy") == "no-referrer")
            #expect(reply.field("Cross-Origin-Resource-Policy") == "same-origin")
            #expect(reply.field("Cache-Control") != nil)
        }
    }

    @Test("nobody signs in or out over the dashboard")
    func session() async throws {
        let agent = try agent()
        try await agent.start()
        let browser = try await Browser.inside(agent)
        for method in ["POST", "DELETE", "GET"] {
            #expect(try await browser.ask(method, "/v1/session").status == 404)
        }
    }

    @Test("the secret is a token for metrics and health")
    func token() async throws {
        let agent = try agent()
        try await agent.start()
        let stranger = try await Browser(agent)
        let token = "Authorization: Bearer \(stranger.secret)"
        #expect(try await stranger.ask("GET", "/metrics", fields: [token]).body.contains("outbox_files{"))
        #expect(try await stranger.ask("GET", "/v1/health", fields: [token]).body.contains("\"pid\""))
        #expect(try await stranger.ask("GET", "/v1/files", fields: [token]).status == 401)
        #expect(try await stranger.ask("GET", "/metrics", fields: [token + "0"]).status == 401)
    }

    @Test("the token of control.metrics_token_file opens the metrics alone, also after a restart")
    func metricsToken() async throws {
        let agent = try Agent(
            remote: Self.nowhere, ["control.dashboard": "127.0.0.1:0", "control.metrics_token_file": "metrics-token"])
        let file = agent.directory.path("metrics-token")
        let token = "Authorization: Bearer for-prometheus"
        try await agent.start()
        #expect(try await Browser(agent).ask("GET", "/metrics", fields: [token]).status == 401, "there is no file yet")
        try Files.write(Array("for-prometheus\n".utf8), to: file)
        for _ in 0..<2 {
            let stranger = try await Browser(agent)
            #expect(try await stranger.ask("GET", "/metrics", fields: [token]).body.contains("outbox_files{"))
            for (path, field) in [
                ("/metrics", "Authorization: Bearer "), ("/metrics", token + "x"),
                ("/metrics", "Authorization: Bearer"),
                ("/v1/health", token), ("/v1/files", token), ("/", token),
            ] {
                #expect(try await stranger.ask("GET", path, fields: [field]).status == 401, "\(path) \(field)")
            }
            try await agent.stop()
            try await agent.start()
        }
        try Files.write([], to: file)
        #expect(try await Browser(agent).ask("GET", "/metrics", fields: ["Authorization: Bearer "]).status == 401)
    }

    @Test("a busy port is a warning in log, status and doctor, and the agent works without a dashboard")
    func busyPort() async throws {
        let first = try agent()
        try await first.start()
        let port = try await Browser(first).port
        let second = try agent("127.0.0.1:\(port)")
        try Files.write(Array("stale\n".utf8), to: second.directory.path("stale"))
        try FileManager.default.createDirectory(atPath: second.state, withIntermediateDirectories: true)
        try Files.write(Array("http://127.0.0.1:9/open/of-a-killed-agent\n".utf8), to: "\(second.state)/dashboard-url")
        try await second.start()
        try await Poll.until("the warning", lastState: { second.log }) {
            try await second.command("status").standardError.contains("there is no dashboard on 127.0.0.1:\(port)")
        }
        #expect(second.log.contains("another program listens there"))
        #expect(try await !second.command("status").standardOutput.contains("dashboard:"))
        #expect(try await second.command("doctor").standardOutput.contains("there is no dashboard"))
        #expect(try await Browser.inside(first).ask("GET", "/v1/health").status == 200)
    }

    @Test("large heads and bodies are refused, and the dashboard goes on")
    func sizes() async throws {
        let agent = try agent()
        try await agent.start()
        let browser = try await Browser.inside(agent)
        let file = agent.directory.path("large")
        try Files.write([UInt8](repeating: 0x20, count: 200_000), to: file)
        #expect(try await browser.ask("POST", "/v1/pause", file: file).status == 413)
        let long = "X-Long: " + String(repeating: "x", count: 40_000)
        #expect(try await browser.ask("GET", "/v1/health", fields: [long]).status >= 400)
        #expect(try await browser.ask("GET", "/v1/health").status == 200)
    }
}
