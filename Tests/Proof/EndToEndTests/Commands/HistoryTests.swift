import EndToEndSupport
import Foundation
import TestSupport
import Testing

/// The question "did it arrive, when, where is it?", answered with and without a running agent.
@Suite("history and receipts", .agents)
struct HistoryTests {
    private struct Row: Decodable {
        let id: String
        let event: String
        let path: String
        let key: String?
        let now: String?
        let remote: Remote?

        struct Remote: Decodable { let url: String? }
    }

    private func rows(_ agent: Agent, _ arguments: String...) async throws -> [Row] {
        var words = ["history", "--json"]
        words += arguments
        let output = try await agent.command(words)
        guard output.code == 0 else { return [] }
        return try output.standardOutput.split(separator: "\n").map {
            try JSONDecoder().decode(Row.self, from: Data($0.utf8))
        }
    }

    @Test("a file is found after it was renamed, deleted and forgotten, with one id, and after a kill")
    func found() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["sidecars.retention": "1s"])
        try await agent.start()
        try agent.drop("DSC_0042.JPG", .jpeg, size: 3000)
        try agent.drop("words.jpg", Array("words".utf8))
        try await agent.reached("DSC_0042.JPG", .done)
        try await agent.reached("words.jpg", .rejected)
        let done = try #require(try await rows(agent, "dsc_0042.jpg").first)
        #expect(done.event == "done" && done.path == "DSC_0042.JPG" && done.remote?.url != nil)
        #expect(try await rows(agent, "words.jpg").map(\.event) == ["rejected"])
        #expect(rename(agent.path("DSC_0042.JPG"), agent.path("beach.jpg")) == 0)
        try await Poll.until("the new name") { try await rows(agent, "beach.jpg").map(\.now) == ["beach.jpg"] }
        agent.remove("beach.jpg")
        try await Poll.until("the file to be forgotten") {
            try await !agent.command("status", "--json").standardOutput.contains("beach.jpg")
        }
        try await agent.kill()
        for name in ["DSC_0042.JPG", "beach.jpg", done.key ?? ""] {
            #expect(try await rows(agent, name).map(\.id) == [done.id], "\(name)")
        }
        #expect(try await agent.command("history", "nothing.jpg").code == 1)
    }

    @Test("md5sum accepts the receipts of all confirmed files, whatever their names")
    func receipts() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        for name in ["plain.jpg", "back\\slash.jpg", "line\nbreak.jpg", "trip/ü.jpg"] {
            try agent.drop(name, .jpeg, size: 2000)
            try await agent.reached(name, .done)
        }
        let sums = try await agent.command("receipts", "--format", "md5sum").standardOutput
        let list = agent.path("../sums")
        try Data(sums.utf8).write(to: URL(fileURLWithPath: list))
        let check = Process()
        check.executableURL = URL(fileURLWithPath: "/usr/bin/md5sum")
        check.arguments = ["--strict", "-c", list]
        check.currentDirectoryURL = URL(fileURLWithPath: agent.outbox)
        let pipe = Pipe()
        check.standardOutput = pipe
        try check.run()
        let said = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        check.waitUntilExit()
        #expect(check.terminationStatus == 0, "\(said)")
        #expect(said.split(separator: "\n").count == 4, "\(said)")
    }
}
