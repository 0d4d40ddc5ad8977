import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("A ledger of another format", .agents)
struct SchemaTests {
    /// Returns the record with the format number, including its checksum, as each format writes it.
    private static func record(of format: UInt8) -> Data {
        let checksums: [[UInt8]] = [
            [0x28, 0x80, 0x37, 0x9E, 0xCD, 0x61, 0x9A, 0x97], [0x67, 0xC2, 0xD6, 0x55, 0x98, 0x14, 0xBD, 0x3A],
            [0x26, 0xCE, 0x85, 0x15, 0xF3, 0x26, 0xCA, 0x27], [0x45, 0xEB, 0xEC, 0x3A, 0x17, 0x26, 0xD2, 0x23],
            [0xAF, 0x1F, 0x02, 0x8D, 0x43, 0x98, 0x66, 0xB5], [0xC9, 0x70, 0xEC, 0x59, 0xC4, 0xCD, 0x7B, 0xAA],
            [0xA1, 0x13, 0x68, 0xE0, 0x69, 0x58, 0x6E, 0x27], [0x88, 0xB4, 0xC8, 0x95, 0xFB, 0x17, 0x3E, 0xDE],
            [0x55, 0x9D, 0x0B, 0x5D, 0x15, 0x1A, 0x3C, 0x4C], [0x96, 0xCA, 0x43, 0xE0, 0xB7, 0x45, 0x3F, 0xA4],
        ]
        return Data(checksums[Int(format) - 1] + [1, 4, 0, 0, 0, format, 0, 0, 0])
    }

    /// Rewrites a ledger of the current format into another format.
    private func rewrite(_ path: String, as format: UInt8) throws {
        var data = try Data(contentsOf: URL(fileURLWithPath: path))
        var changes = 0
        while let place = data.range(of: Self.record(of: 9)) {
            data.replaceSubrange(place, with: Self.record(of: format))
            changes += 1
        }
        try #require(changes > 0, "the ledger is not of format 9")
        try data.write(to: URL(fileURLWithPath: path))
    }

    @Test("an older format is accepted, and nothing is sent again", arguments: [1, 2, 3, 4, 5, 6, 7, 8])
    func older(format: UInt8) async throws {
        let server = try FaultServer()
        let agent = try Agent(remote: server.url)
        try await agent.start()
        let first = try agent.drop("a.jpg", .jpeg, size: 2000)
        try await agent.reached("a.jpg", .done)
        try await agent.stop()
        try rewrite(agent.state + "/ledger.lmdb", as: format)

        try await agent.start()
        let second = try agent.drop("b.jpg", .jpeg, size: 2000)
        try await agent.reached("b.jpg", .done)

        #expect(try await agent.command("wait").code == 0)
        #expect(Files.tree(agent.state).filter { $0.contains("damaged") } == [])
        #expect(server.count(.preLoad) == 2)
        expectClean(server, finished: [first, second])
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
        try rewrite(ledger, as: 10)
        let newer = try Data(contentsOf: URL(fileURLWithPath: ledger))
        let second = try agent.drop("b.jpg", .jpeg, size: 2000)

        try agent.launch()
        #expect(try await agent.program?.wait() == .exited(74))

        #expect(agent.said(ledger, "format 10").count == 1)
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
