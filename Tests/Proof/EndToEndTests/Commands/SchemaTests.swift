import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("A ledger of another format", .agents)
struct SchemaTests {
    /// Records with the format number, including the checksum, as each format writes them.
    private static let present = Data([0x96, 0xCA, 0x43, 0xE0, 0xB7, 0x45, 0x3F, 0xA4, 1, 4, 0, 0, 0, 10, 0, 0, 0])
    private static let next = Data([0x9E, 0x54, 0xC2, 0x87, 0xF6, 0x8C, 0x83, 0x81, 1, 4, 0, 0, 0, 11, 0, 0, 0])

    /// Rewrites a ledger of the current format into the next one.
    private func makeNewer(_ path: String) throws {
        var data = try Data(contentsOf: URL(fileURLWithPath: path))
        var changes = 0
        while let place = data.range(of: Self.present) {
            data.replaceSubrange(place, with: Self.next)
            changes += 1
        }
        try #require(changes > 0, "the ledger is not of format 10")
        try data.write(to: URL(fileURLWithPath: path))
    }

    @Test("a newer format is refused with status 74 and its number, and stays unchanged")
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

        #expect(agent.said(ledger, "format 11").count == 1)
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
