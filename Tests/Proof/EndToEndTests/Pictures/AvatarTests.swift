import EndToEndSupport
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite("Avatars", .agents)
struct AvatarTests {
    private let picture = NumberedPicture(11)

    /// A server with one picture at every path that contains `.png`. Records the targets and tokens of requests.
    private final class PictureServer: Sendable {
        private let listener: ScriptedServer
        private let log: Log

        private final class Log: Sendable {
            let targets = Mutex<[String]>([])
            let authorizations = Mutex<[String]>([])
        }

        init(_ picture: [UInt8]) throws {
            let log = Log()
            self.log = log
            listener = try ScriptedServer { request in
                log.targets.withLock { $0.append(request.target) }
                if let token = request.header("Authorization") { log.authorizations.withLock { $0.append(token) } }
                if request.target.hasPrefix("/elsewhere") {
                    return .response(status: 302, headers: [("Location", "http://localhost:1/x.png")])
                }
                guard request.target.contains(".png") else { return .response(status: 404) }
                if request.header("If-None-Match") == "\"one\"" { return .response(status: 304) }
                return .response(
                    status: 200,
                    headers: [("Content-Type", "image/png"), ("ETag", "\"one\""), ("Cache-Control", "max-age=3600")],
                    body: picture)
            }
        }

        deinit { listener.stop() }

        var url: String { listener.url }
        var port: UInt16 { listener.port }
        var targets: [String] { log.targets.withLock { $0 } }
        var authorizations: [String] { log.authorizations.withLock { $0 } }
    }

    private func agent(_ settings: Settings = ["avatar_cache.allow_private": true]) throws -> Agent {
        try Agent(remote: "http://127.0.0.1:9", settings, environment: ["OUTBOX_TOKEN": "secret"])
    }

    @Test("are downloaded once, without a token, and come from the mirror afterwards")
    func get() async throws {
        let server = try PictureServer(picture.png)
        let agent = try agent()
        try await agent.start()
        for _ in 0..<2 {
            let output = try await agent.command("avatar", "get", "\(server.url)/u/a.png?v=1")
            #expect(output.code == 0, "\(output.standardError)")
            let path = output.standardOutput.trimmingCharacters(in: .newlines)
            #expect(path.hasSuffix("/avatars/127.0.0.1_\(server.port)/u/a.png%3Fv=1"))
            #expect(FileManager.default.contents(atPath: path).map(Array.init) == picture.png)
        }
        #expect(server.targets == ["/u/a.png?v=1"])
        #expect(server.authorizations == [])
    }

    @Test("are drawn in several styles after a single download")
    func styles() async throws {
        let server = try PictureServer(picture.png)
        let agent = try agent(["avatar_cache.allow_private": true, "avatar_styles.list": ["rect:40x30"]])
        try await agent.start()
        for (style, sides) in [("rect:96x64", [96, 64]), ("round:96x96,r=48,b=2", [96, 96]), ("list", [40, 30])] {
            let output = try await agent.command("avatar", "get", "\(server.url)/a.png", "--style", style)
            #expect(output.code == 0, "\(output.standardError)")
            let path = output.standardOutput.trimmingCharacters(in: .newlines)
            #expect(path.hasSuffix("/avatars/.styles/\(style)/127.0.0.1_\(server.port)/a.png.png"))
            let bytes = try #require(FileManager.default.contents(atPath: path).map(Array.init))
            // PNG, IHDR: width and height follow signature, length and type.
            #expect(bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]))
            #expect([Int(bytes[18]) << 8 | Int(bytes[19]), Int(bytes[22]) << 8 | Int(bytes[23])] == sides)
        }
        #expect(server.targets == ["/a.png"])
    }

    @Test("that failed are not requested again until the mirror is cleared")
    func blacklist() async throws {
        let server = try PictureServer(picture.png)
        let agent = try agent()
        try await agent.start()
        for _ in 0..<2 {
            let output = try await agent.command("avatar", "get", "\(server.url)/missing")
            #expect(output.code == 1)
            #expect(output.standardError.contains("404"))
        }
        #expect(server.targets == ["/missing"])
        #expect(try await agent.command("avatar", "clear").code == 0)
        #expect(try await agent.command("avatar", "get", "\(server.url)/missing").code == 1)
        #expect(server.targets == ["/missing", "/missing"])
    }

    @Test("never come from private addresses unless allowed, however the address is written")
    func privateAddresses() async throws {
        let server = try PictureServer(picture.png)
        let agent = try agent([:])
        try await agent.start()
        for host in ["127.0.0.1", "localhost", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]"] {
            let output = try await agent.command("avatar", "get", "http://\(host):\(server.port)/a.png")
            #expect(output.code == 77, "\(host): \(output.standardError)")
        }
        #expect(server.targets == [])
    }

    @Test("are placeholders while they are fetched, and pictures afterwards")
    func placeholder() async throws {
        let server = try PictureServer(picture.png)
        let agent = try agent()
        try await agent.start()
        let socket = agent.socket
        let url = "\(server.url)/a.png".addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        try await Poll.until("the picture") {
            guard let answer = ControlSocket.get("/v1/avatar?url=\(url)", socket: socket) else { return false }
            #expect(answer.status == 200)
            return Array(answer.body) == picture.png
        }
        let refused = ControlSocket.get("/v1/avatar?url=ftp%3A%2F%2Fx%2Fa.png", socket: socket)
        #expect(refused?.status == 400)
    }

    @Test("named in wanted.txt are mirrored, and edits are noticed")
    func wanted() async throws {
        let server = try PictureServer(picture.png)
        let agent = try agent()
        let avatars = agent.directory.path("avatars")
        try FileManager.default.createDirectory(atPath: avatars, withIntermediateDirectories: true)
        let list = URL(fileURLWithPath: "\(avatars)/wanted.txt")
        try Data("\(server.url)/one.png\n".utf8).write(to: list)
        try await agent.start()
        let host = "\(avatars)/127.0.0.1_\(server.port)"
        // On a busy machine a download may be interrupted. The agent repeats it after 60 s.
        let patience = Duration.seconds(180)
        try await Poll.until("the first", timeout: patience, lastState: { agent.log }) {
            FileManager.default.fileExists(atPath: "\(host)/one.png")
        }
        try Data("\(server.url)/one.png\n\(server.url)/two.png rect:32x32\n".utf8).write(to: list)
        try await Poll.until("the second", timeout: patience, lastState: { agent.log }) {
            FileManager.default.fileExists(
                atPath: "\(avatars)/.styles/rect:32x32/127.0.0.1_\(server.port)/two.png.png")
        }
    }

    @Test("can be fetched, listed and cleared while no agent runs")
    func withoutAgent() async throws {
        let server = try PictureServer(picture.png)
        let agent = try agent()
        let output = try await agent.command("avatar", "get", "\(server.url)/a.png", "--style", "rect:20x20")
        #expect(output.code == 0, "\(output.standardError)")
        #expect(try await agent.command("avatar", "list").standardOutput.contains("\(server.url)/a.png"))
        #expect(try await agent.command("avatar", "clear").code == 0)
        #expect(!FileManager.default.fileExists(atPath: output.standardOutput.trimmingCharacters(in: .newlines)))
        #expect(try await agent.command("avatar", "get", "no address").code == 64)
        #expect(try await agent.command("avatar", "get", "\(server.url)/a.png", "--style", "oval").code == 64)
    }

    @Test("of an unreachable server give status 75, and are not recorded as failures")
    func offline() async throws {
        let server = try PictureServer(picture.png)
        let url = server.url
        let agent = try agent()
        try await agent.start()
        let away = try await agent.command("avatar", "get", "http://127.0.0.1:9/a.png", "--timeout", "20s")
        #expect(away.code == 75, "\(away.standardError)")
        #expect(try await agent.command("avatar", "list", "--json").standardOutput.contains("\"failures\":[]"))
        #expect(try await agent.command("avatar", "get", "\(url)/elsewhere").code != 0)
    }
}
