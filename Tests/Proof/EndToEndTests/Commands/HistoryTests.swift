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
        let said = try await check("md5sum", agent)
        #expect(said.code == 0 && said.text.split(separator: "\n").count == 4, "\(said)")
    }

    @Test("sha256sum accepts the receipts of files that were moved away")
    func strongReceipts() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url, ["intake.after_upload": "move"])
        try await agent.start()
        for name in ["a.jpg", "trip/ü.jpg"] { try agent.drop(name, .jpeg, size: 2000) }
        try await Poll.until("both to move") {
            ["Sent/a.jpg", "Sent/trip/ü.jpg"].allSatisfy { FileManager.default.fileExists(atPath: agent.path($0)) }
        }
        try await Poll.until("both places") { try await rows(agent).compactMap(\.now).count == 2 }
        let said = try await check("sha256sum", agent)
        #expect(said.code == 0 && said.text.split(separator: "\n").count == 2, "\(said)")
    }

    /// Checks the receipts of an agent with a program that compares digests.
    private func check(_ program: String, _ agent: Agent) async throws -> (code: Int32, text: String) {
        let sums = try await agent.command("receipts", "--format", program).standardOutput
        let list = agent.path("../sums")
        try Data(sums.utf8).write(to: URL(fileURLWithPath: list))
        return try run("/usr/bin/" + program, ["--strict", "-c", list], in: agent.outbox)
    }

    private func run(_ program: String, _ arguments: [String], in directory: String) throws -> (
        code: Int32, text: String
    ) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: directory)
        let pipe = Pipe()
        (process.standardOutput, process.standardError) = (pipe, pipe)
        try process.run()
        let said = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, said)
    }

    @Test("the bagit library finds the bag valid once its files are there, and finds a changed one")
    func bag() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        let library = agent.path("../library")
        let pip = ["-m", "pip", "install", "--quiet", "--no-input", "--target", library, "bagit==1.9.0"]
        guard try run("/usr/bin/env", ["python3"] + pip, in: agent.outbox).code == 0 else {
            return print("not checked with the bagit library, which pip can't fetch")
        }
        try await agent.start()
        for name in ["a.jpg", "trip/two words ü.jpg"] {
            try agent.drop(name, .jpeg, size: 2000)
            try await agent.reached(name, .done)
        }
        let bag = agent.path("../bag")
        #expect(try await agent.command("receipts", "--format", "bagit", "--output", bag).code == 0)
        let script = """
            import sys; sys.path.insert(0, sys.argv[1])
            import bagit
            bag = bagit.Bag(sys.argv[2])
            assert len(list(bag.fetch_entries())) == 2
            bag.validate()
            """
        func validate() throws -> (code: Int32, text: String) {
            try run("/usr/bin/env", ["python3", "-c", script, library, bag], in: agent.outbox)
        }
        #expect(try validate().code != 0)
        for name in ["a.jpg", "trip/two words ü.jpg"] {
            let copy = URL(fileURLWithPath: bag + "/data/" + name)
            try FileManager.default.createDirectory(
                at: copy.deletingLastPathComponent(), withIntermediateDirectories: true)
            try FileManager.default.copyItem(at: URL(fileURLWithPath: agent.path(name)), to: copy)
        }
        let complete = try validate()
        #expect(complete.code == 0, "\(complete.text)")
        try Data("changed".utf8).write(to: URL(fileURLWithPath: bag + "/data/a.jpg"))
        #expect(try validate().code != 0)
    }
}
