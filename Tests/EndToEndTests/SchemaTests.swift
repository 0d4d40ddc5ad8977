import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("A ledger of a newer format", .agents)
struct SchemaTests {
    /// Turns the ledger into one of format 3: its record of the format, checksum and all, as that would be written.
    private func makeNewer(_ path: String) throws {
        var data = try Data(contentsOf: URL(fileURLWithPath: path))
        let old = Data([0x67, 0xC2, 0xD6, 0x55, 0x98, 0x14, 0xBD, 0x3A, 1, 4, 0, 0, 0, 2, 0, 0, 0])
        let new = Data([0x26, 0xCE, 0x85, 0x15, 0xF3, 0x26, 0xCA, 0x27, 1, 4, 0, 0, 0, 3, 0, 0, 0])
        var changes = 0
        while let place = data.range(of: old) {
            data.replaceSubrange(place, with: new)
            changes += 1
        }
        try #require(changes > 0, "the ledger is not of format 2")
        try data.write(to: URL(fileURLWithPath: path))
    }

    @Test("is refused with status 74, naming it, and stays as it is; with an older program's it goes on")
    func newer() async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let first = try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .done)
        try await agent.stop()
        let ledger = agent.state + "/ledger.lmdb"
        let good = try Data(contentsOf: URL(fileURLWithPath: ledger))
        try makeNewer(ledger)
        let newer = try Data(contentsOf: URL(fileURLWithPath: ledger))
        let second = try agent.drop("b.jpg", .jpeg, size: 2000)

        try agent.launch()
        #expect(try await agent.program?.wait() == .exited(74))

        #expect(!agent.said(ledger).isEmpty)
        #expect(!agent.said("newer").isEmpty || !agent.said("3").isEmpty)
        #expect(try Data(contentsOf: URL(fileURLWithPath: ledger)) == newer, "not a byte of it was changed")
        #expect(Files.tree(agent.state).filter { $0.contains("damaged") } == [])
        #expect(server.count(.preLoad) == 1)
        for command in ["status", "prune"] {
            let output = try await agent.command(command)
            #expect(output.code == 74, "\(command): \(output)")
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: ledger)) == newer)

        try good.write(to: URL(fileURLWithPath: ledger))
        try await agent.start()
        try await agent.reached("b.jpg", .done)
        expectClean(server, finished: [first, second])
    }
}
