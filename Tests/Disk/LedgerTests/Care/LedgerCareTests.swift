import Foundation
@testable import Ledger
import TestSupport
import Testing
import UploadCore

@Suite("Care of the ledger")
struct LedgerCareTests {
    private let directory: TemporaryDirectory
    private let log = RecordedLog()
    private var file: String { directory.path("ledger.lmdb") }

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func care(boot: String = "boot") -> LedgerCare {
        LedgerCare(state: directory.path, logger: log.logger, boot: boot)
    }

    private func open(_ care: LedgerCare) throws -> Ledger { try care.open(onTrouble: { _ in }) }

    /// Creates and closes a ledger with a setting.
    private func leave(_ value: UInt8, bytes: Int = 1) async throws {
        let care = care()
        let ledger = try open(care)
        await ledger.commit([.setting("kept", [UInt8](repeating: value, count: bytes))])
        // Commit once more, so that the ledger's previous state holds the setting too.
        await ledger.commit([.setting("last", [value])])
        ledger.close()
        care.close()
    }

    private func kept() throws -> [UInt8]? {
        let care = care()
        let ledger = try open(care)
        defer {
            ledger.close()
            care.close()
        }
        return try ledger.setting("kept")
    }

    private var aside: [String] { DamagedLedgers(directory: directory.path).names() }

    private func mark() throws -> LedgerMark? {
        LedgerMark(line: try String(contentsOfFile: directory.path("ledger-mark"), encoding: .utf8))
    }

    @Test("a sound ledger is opened unchanged, without a log message")
    func sound() async throws {
        try await leave(7)
        #expect(try kept() == [7])
        #expect(aside.isEmpty)
        #expect(log.lines.isEmpty)
    }

    @Test("text in the ledger's place is moved aside with a log message, and a new ledger begins")
    func text() async throws {
        try Data("my diary".utf8).write(to: URL(fileURLWithPath: file))
        #expect(try kept() == nil)
        #expect(aside.count == 1)
        let old = try #require(aside.first)
        #expect(try String(contentsOfFile: directory.path(old), encoding: .utf8) == "my diary")
        #expect(log.lines.count == 1)
        #expect(log.lines.first?.hasPrefix("error the ledger was damaged") == true)
    }

    @Test("the readable entries of a damaged ledger go into the new one")
    func salvage() async throws {
        try await leave(7)
        var data = try Data(contentsOf: URL(fileURLWithPath: file))
        data[0] ^= 0xFF
        try data.write(to: URL(fileURLWithPath: file))
        #expect(try kept() == [7])
        #expect(aside.count == 1)
    }

    @Test("a truncated ledger is rebuilt")
    func cut() async throws {
        try await leave(7, bytes: 100_000)
        truncate(file, 40_000)
        #expect(throws: Never.self) { try kept() }
        #expect(aside.count == 1)
        #expect(try kept() == nil)
    }

    @Test("only the two newest damaged ledgers are kept")
    func kept2() async throws {
        for round in 0..<4 {
            try Data("round \(round)".utf8).write(to: URL(fileURLWithPath: file))
            _ = try kept()
        }
        let texts = try aside.map { try String(contentsOfFile: directory.path($0), encoding: .utf8) }
        #expect(Set(texts) == ["round 2", "round 3"])
    }

    @Test("an interrupted rebuild starts over")
    func leftover() async throws {
        try await leave(7)
        try Data("half".utf8).write(to: URL(fileURLWithPath: file + ".rebuilding"))
        truncate(file, 8192)
        #expect(throws: Never.self) { try kept() }
        #expect(!FileManager.default.fileExists(atPath: file + ".rebuilding"))
    }

    @Test("the mark follows the ledger's life")
    func life() async throws {
        let care = care()
        let ledger = try open(care)
        #expect(try mark() == LedgerMark(phase: .running, crashes: 0, boot: "boot"))
        ledger.close()
        care.close()
        #expect(try mark()?.phase == .closed)
    }

    @Test("readers trust a large ledger after a clean end, and check it after a crash")
    func trust() async throws {
        func isTrusted() -> Bool { LedgerCare.isTrusted(state: directory.path, boot: "boot") }
        #expect(!isTrusted())
        try await leave(7, bytes: 100)
        #expect(!isTrusted(), "a small ledger is always checked")
        try await leave(8, bytes: Int(LedgerCheck.smallFile) + 1)
        #expect(isTrusted())
        let line = LedgerMark(phase: .crashed, crashes: 1, boot: "boot").line
        try Data(line.utf8).write(to: URL(fileURLWithPath: directory.path("ledger-mark")))
        #expect(!isTrusted())
    }

    @Test("a ledger that repeatedly crashed the agent is rebuilt even if it looks sound, and loses nothing")
    func crashLoop() async throws {
        try await leave(7)
        for _ in 0..<3 {
            let care = care()
            let ledger = try open(care)
            ledger.close()
            let line = try String(contentsOfFile: directory.path("ledger-mark"), encoding: .utf8)
            try ("crashed " + line.dropFirst(8)).write(
                toFile: directory.path("ledger-mark"), atomically: false, encoding: .utf8)
        }
        #expect(aside.isEmpty)
        #expect(try kept() == [7])
        #expect(aside.count == 1)
    }

    @Test("a state directory without a mark, or with a malformed one, is fine", arguments: ["", "garbage\n"])
    func noMark(_ text: String) async throws {
        try await leave(7)
        try text.write(toFile: directory.path("ledger-mark"), atomically: false, encoding: .utf8)
        #expect(try kept() == [7])
        #expect(aside.isEmpty)
    }
}
