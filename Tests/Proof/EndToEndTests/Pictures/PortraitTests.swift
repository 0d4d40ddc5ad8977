import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("The portrait", .agents)
struct PortraitTests {
    /// Returns the number of the picture at a path, or nil if there is none.
    private func number(at path: String) -> Int? {
        FileManager.default.contents(atPath: path).flatMap { NumberedPicture(jpeg: Array($0)) }?.number
    }

    private func current(_ agent: Agent) -> Int? { number(at: agent.directory.path("avatars/current.jpg")) }

    private func pending(_ agent: Agent) -> Int? { number(at: "\(agent.state)/portrait/pending.jpg") }

    private func profile(_ agent: Agent) -> [String: Any]? {
        guard let data = FileManager.default.contents(atPath: "\(agent.state)/profile.json") else { return nil }
        return try? JSONSerialization.jsonObject(with: data) as? [String: Any]
    }

    private func drop(_ picture: Int, _ agent: Agent) throws {
        try agent.drop("portrait/\(picture).png", NumberedPicture(picture).png)
    }

    /// Returns the numbers of the pictures sent to a server.
    private func sent(to server: FaultServer) -> [Int] {
        server.store.portraits.compactMap { body in
            guard let start = body.range(of: Data([0xFF, 0xD8, 0xFF]))?.lowerBound,
                let end = body.range(of: Data([0xFF, 0xD9]), options: .backwards)?.upperBound
            else { return nil }
            return NumberedPicture(jpeg: Array(body[start..<end]))?.number
        }
    }

    @Test("is sent, and stored in the mirror under its URL")
    func straight() async throws {
        let receiver = try await Receiver.started()
        let agent = try Agent(remote: receiver.url)
        try await agent.start()
        try drop(1, agent)
        let sidecar = try await agent.reached("portrait/1.png", .done)
        let url = try #require(sidecar.remote?.url)
        #expect(profile(agent)?["portraitURL"] as? String == url)
        #expect(current(agent) == 1)
        let target = URL(fileURLWithPath: agent.directory.path("avatars/current.jpg")).resolvingSymlinksInPath().path
        let avatars = URL(fileURLWithPath: agent.directory.path("avatars")).resolvingSymlinksInPath().path
        #expect(target.hasPrefix(avatars + "/127.0.0.1_"))
        #expect(!target.contains("!"))
        #expect(pending(agent) == nil)
        #expect(!FileManager.default.fileExists(atPath: "\(agent.state)/portrait/pending-150.jpg"))
    }

    @Test("is the newest of several pictures dropped while no agent ran, and the others are not sent")
    func found() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        var last = Date.distantPast
        for picture in 1...4 {
            // The kernel's clock for file times is coarse.
            try await Poll.until("another time of the next file") {
                try drop(picture, agent)
                let values = try FileManager.default.attributesOfItem(atPath: agent.path("portrait/\(picture).png"))
                defer { last = values[.modificationDate] as? Date ?? last }
                return (values[.modificationDate] as? Date ?? last) > last
            }
        }
        try await agent.start()
        try await agent.reached("portrait/4.png", .done)
        for picture in 1...3 {
            let old = try await agent.reached("portrait/\(picture).png", .cancelled)
            #expect(old.error?.code == "superseded")
        }
        #expect(sent(to: server) == [4])
        #expect(current(agent) == 4)
    }

    @Test("is shown at once while the server is unreachable, across a kill, and the newest supersedes it")
    func offline() async throws {
        let receiver = try await Receiver.started()
        try await receiver.kill()
        let agent = try Agent(remote: receiver.url)
        try await agent.start()
        try drop(1, agent)
        try await Poll.until("it is shown") { current(agent) == 1 }
        #expect(pending(agent) == 1)
        let small = try #require(FileManager.default.contents(atPath: "\(agent.state)/portrait/pending-150.jpg"))
        #expect(small.starts(with: [0xFF, 0xD8]))
        try drop(2, agent)
        let old = try await agent.reached("portrait/1.png", .cancelled)
        #expect(old.error?.code == "superseded")
        #expect(current(agent) == 2)
        try await agent.kill()
        #expect(current(agent) == 2)
        try await agent.start()
        try await agent.reached("portrait/2.png", .waiting)
        try await receiver.start()
        try await agent.reached("portrait/2.png", .done)
        #expect(current(agent) == 2)
        #expect(try agent.sidecar("portrait/1.png")?.state == .cancelled)
    }

    @Test("that the server refuses is replaced by the previous one")
    func refused() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try drop(1, agent)
        try await agent.reached("portrait/1.png", .done)
        server.setFaults { endpoint, _ in endpoint == .portrait ? .status(413) : nil }
        try drop(2, agent)
        let sidecar = try await agent.reached("portrait/2.png", .failed)
        #expect(sidecar.error?.retryable == false)
        try await Poll.until("the one before is back") { current(agent) == 1 }
        #expect(pending(agent) == nil)
        #expect(sent(to: server) == [1])
    }

    @Test("is discarded if the session is refused, and a later one waits for the login")
    func session() async throws {
        let server = try FaultServer(token: "right")
        let agent = try Agent(remote: server.url, environment: [:])
        try await agent.start()
        _ = try await login("wrong", agent)
        try drop(1, agent)
        let first = try await agent.reached("portrait/1.png", .cancelled)
        #expect(first.error?.code == "session_refused")
        try await Poll.until("it is not shown") { current(agent) == nil }
        try drop(2, agent)
        try await agent.reached("portrait/2.png", .signedOut)
        _ = try await login("right", agent)
        try await agent.reached("portrait/2.png", .done)
        #expect(sent(to: server) == [2])
    }

    @Test("that waits is discarded at logout")
    func logout() async throws {
        let receiver = try await Receiver.started()
        try await receiver.kill()
        let agent = try Agent(remote: receiver.url)
        try await agent.start()
        _ = try await login("token", agent)
        try drop(1, agent)
        try await Poll.until("it is shown") { current(agent) == 1 }
        try await agent.reached("portrait/1.png", .waiting)
        let output = try await agent.command("logout")
        #expect(output.code == 0)
        #expect(try await agent.reached("portrait/1.png", .cancelled).error?.code == "session_refused")
        try await Poll.until("it is not shown") { current(agent) == nil }
    }

    @Test("is never an upload, and must be a picture")
    func notAnUpload() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try drop(1, agent)
        try await agent.reached("portrait/1.png", .done)
        try agent.drop("portrait/clip.mp4", .mp4, size: 2000)
        try await agent.reached("portrait/clip.mp4", .rejected)
        try agent.drop("portrait/bad.jpg", .jpeg, size: 2000)
        try await agent.reached("portrait/bad.jpg", .rejected, .failed)
        #expect(current(agent) == 1)
        #expect(server.count(.preLoad) == 0)
        #expect(server.store.violations == [])
    }

    @Test("is served by the control interface")
    func control() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        try drop(1, agent)
        try await agent.reached("portrait/1.png", .done)
        let answer = try #require(ControlSocket.get("/v1/profile", socket: agent.socket))
        let json = try #require(try JSONSerialization.jsonObject(with: answer.body) as? [String: Any])
        #expect(json["portraitURL"] as? String == profile(agent)?["portraitURL"] as? String)
        #expect(json["pending"] is NSNull)
    }

    private func login(_ token: String, _ agent: Agent) async throws -> Int32? {
        let file = agent.directory.path("token")
        try Data(token.utf8).write(to: URL(fileURLWithPath: file))
        return try await agent.command("login", "--token-file", file).code
    }
}
