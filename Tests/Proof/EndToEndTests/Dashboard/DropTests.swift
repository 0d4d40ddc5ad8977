import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Files dropped onto the dashboard", .agents)
struct DropTests {
    private func pair(_ settings: Settings = [:]) async throws -> (FaultServer, Agent, Browser) {
        let server = try FaultServer()
        let usual: Settings = ["control.dashboard": "127.0.0.1:0", "intake.max_file_size": "4MiB"]
        let agent = try Agent(remote: server.url, usual.merging(settings) { $1 })
        try await agent.start()
        return (server, agent, try await Browser.inside(agent))
    }

    /// Writes a picture outside of the outbox and returns its path.
    private func picture(_ agent: Agent, size: Int, seed: UInt64 = 7) throws -> (path: String, key: String) {
        let bytes = SampleMedia.jpeg.bytes(size: size, seed: seed)
        let path = agent.directory.path("picture-\(seed)")
        try Files.write(bytes, to: path)
        return (path, Digest.md5(bytes))
    }

    private func isClean(_ agent: Agent) -> Bool { !agent.exists(".outbox-drops") }

    @Test("arrive on the server; a taken name gets a number; directories are created")
    func arrival() async throws {
        let (server, agent, browser) = try await pair()
        let (file, key) = try picture(agent, size: 1_500_000)
        let (other, otherKey) = try picture(agent, size: 3000, seed: 8)
        let reply = try await browser.ask("POST", "/v1/drop?name=trip/day%201/beach.jpg", file: file)
        #expect(reply.status == 201 && reply.body.contains("\"path\":\"trip/day 1/beach.jpg\""), "\(reply)")
        let again = try await browser.ask("POST", "/v1/drop?name=trip/day%201/beach.jpg", file: other)
        #expect(again.status == 201 && again.body.contains("beach (2).jpg"), "\(again)")
        #expect(try await agent.reached("trip/day 1/beach.jpg", .done).key == key)
        #expect(try await agent.reached("trip/day 1/beach (2).jpg", .done).key == otherKey)
        #expect(server.store.arrivals[key] != nil && isClean(agent))
        let page = try await browser.ask("GET", "/v1/files?page=1&search=BEACH")
        #expect(page.body.contains("\"counts\":{\"done\":2},\"next\":\"1"), "\(page)")
        struct History: Decodable { let bytes: [Int] }
        let history = try await browser.ask("GET", "/v1/transfers").body
        let bytes = try JSONDecoder().decode(History.self, from: Data(history.utf8)).bytes
        #expect(bytes.reduce(0, +) == 1_503_000, "\(history)")

        try FileManager.default.createSymbolicLink(
            atPath: agent.path("link"), withDestinationPath: agent.directory.path)
        let linked = try await browser.ask("POST", "/v1/drop?name=link/a.jpg", file: file)
        #expect(linked.status == 400 && linked.body.contains("symbolic link"), "\(linked)")
        #expect(!FileManager.default.fileExists(atPath: agent.directory.path("a.jpg")))
    }

    @Test("are refused for their name, type or size, with nothing left behind")
    func refusals() async throws {
        let (_, agent, browser) = try await pair()
        let (file, _) = try picture(agent, size: 3000)
        for (name, code) in [
            ("", "malformed_path"), ("../a.jpg", "malformed_path"), ("%2E%2E/a.jpg", "malformed_path"),
            ("/etc/a.jpg", "malformed_path"), ("a/../../b.jpg", "malformed_path"), ("a%00b.jpg", "malformed_path"),
            ("a.jpg.outbox.json", "ignored_name"), (".outbox-drops/a.jpg", "ignored_name"),
            (".outbox-holding/a.jpg", "ignored_name"), (".hidden/a.jpg", "ignored_name"),
            (String(repeating: "x", count: 256) + ".jpg", "malformed_path"),
            ("source.toml", "ignored_name"), ("trip/source.toml", "ignored_name"),
        ] {
            let reply = try await browser.ask("POST", "/v1/drop?name=\(name)", file: file)
            #expect(reply.status == 400 && reply.body.contains(code), "\(name): \(reply)")
        }
        let long = Array(repeating: String(repeating: "x", count: 250), count: 17).joined(separator: "/")
        #expect(try await browser.ask("POST", "/v1/drop?name=\(long)/a.jpg", file: file).status == 400)
        let text = agent.directory.path("text")
        try Files.write(Array("no picture".utf8), to: text)
        #expect(try await browser.ask("POST", "/v1/drop?name=a.jpg", file: text).status == 415)
        let (large, _) = try picture(agent, size: 5 << 20, seed: 9)
        #expect(try await browser.ask("POST", "/v1/drop?name=a.jpg", file: large).status == 413)
        let chunked = ["Transfer-Encoding: chunked"]
        #expect(try await browser.ask("POST", "/v1/drop?name=a.jpg", fields: chunked, file: file).status == 411)
        let empty = agent.directory.path("empty")
        try Files.write([], to: empty)
        #expect(try await browser.ask("POST", "/v1/drop?name=a.jpg", file: empty).status == 422)
        #expect(Files.tree(agent.outbox).isEmpty, "\(Files.tree(agent.outbox))")
    }

    @Test("leave nothing behind if the browser leaves, or if the agent was killed")
    func abandoned() async throws {
        let (server, agent, browser) = try await pair()
        let (file, _) = try picture(agent, size: 3 << 20)
        let slow = Task {
            try? await browser.ask(
                "POST", "/v1/drop?name=a.jpg", file: file, options: ["--limit-rate", "100k", "--max-time", "20"])
        }
        try await Poll.until("the drop to begin", lastState: { agent.log }) { !isClean(agent) }
        _ = await slow.value
        try await Poll.until("the drop to be removed", lastState: { agent.log }) { isClean(agent) }

        let killed = Task {
            try? await browser.ask("POST", "/v1/drop?name=a.jpg", file: file, options: ["--limit-rate", "100k"])
        }
        try await Poll.until("the drop to begin", lastState: { agent.log }) { !isClean(agent) }
        try await agent.kill()
        _ = await killed.value
        #expect(!isClean(agent))
        try await agent.start()
        #expect(isClean(agent))
        #expect(!agent.exists("a.jpg") && server.store.arrivals.isEmpty)
    }

    @Test(
        "say that the disk is full, leave nothing behind, and smaller ones arrive; status tells of missing sidecars",
        .enabled(if: Unshare.mayMount))
    func fullDisk() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["control.dashboard": "127.0.0.1:0"])
        agent.launcher = [
            "/usr/bin/unshare", "-rm", "sh", "-c",
            "O=$1; shift; mount -t tmpfs -o size=2m,mode=700 none $O && exec \"$@\"", "sh", agent.outbox,
        ]
        try await agent.start()
        let browser = try await Browser.inside(agent)
        let (large, _) = try picture(agent, size: 3 << 20)
        let refusal = try await browser.ask("POST", "/v1/drop?name=large.jpg", file: large)
        #expect(refusal.status == 507 && refusal.body.contains("disk_full"), "\(refusal)")
        let mounted = "/proc/\(try #require(agent.program?.pid))/root\(agent.outbox)"
        #expect(Files.tree(mounted).isEmpty, "\(Files.tree(mounted))")
        let (small, key) = try picture(agent, size: 100_000, seed: 8)
        let reply = try await browser.ask("POST", "/v1/drop?name=small.jpg", file: small)
        #expect(reply.status == 201, "\(reply)")
        try await Poll.until("the file to arrive", lastState: { agent.log }) { server.store.arrivals[key] != nil }

        let sidecar = "\(mounted)/small.jpg.outbox.json"
        try await Poll.until("its sidecar", lastState: { agent.log }) {
            String(decoding: Files.read(Array(sidecar.utf8)) ?? [], as: UTF8.self).contains("\"done\"")
        }
        // So that the removal of this sidecar makes no room for the next one.
        try #require(link(sidecar, "\(mounted)/.kept") == 0)
        try Files.fillDisk("\(mounted)/filler")
        try Files.rename("\(mounted)/small.jpg", to: "\(mounted)/renamed.jpg")
        try await Poll.until("the problem", lastState: { agent.log }) {
            try await agent.problems().contains { $0.contains("sidecars can't be written") }
        }
        try #require(unlink("\(mounted)/filler") == 0)
        try await Poll.until("the sidecar", lastState: { agent.log }) {
            try await agent.problems().isEmpty && Files.tree(mounted).contains("renamed.jpg.outbox.json")
        }
    }
}
