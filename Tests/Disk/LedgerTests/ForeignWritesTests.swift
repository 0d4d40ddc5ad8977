import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing
import UploadCore

@testable import Ledger

/// Another program changes the ledger's file while the ledger is open.
struct ForeignWritesTests {
    private let directory: TemporaryDirectory
    private let troubles = Troubles()
    private let ledger: Ledger
    private var file: String { directory.path("ledger.lmdb") }

    private final class Troubles: Sendable {
        let kinds = Mutex<[LedgerTrouble.Kind?]>([])
    }

    init() async throws {
        directory = try TemporaryDirectory()
        ledger = try openLedger(directory.path) { [troubles] trouble in
            troubles.kinds.withLock { $0.append(trouble?.kind) }
        }
        await ledger.commit([.setting("a", [1])])
    }

    private var told: [LedgerTrouble.Kind?] { troubles.kinds.withLock(\.self) }

    private func isNoticed() async throws {
        ledger.commit([.setting("a", [2])]) {}
        try await Poll.until("trouble") { told == [.damaged] }
        ledger.close()
        #expect(told == [.damaged])
    }

    @Test func aFileThatIsGoneIsNoticedAtTheNextCommit() async throws {
        unlink(file)
        try await isNoticed()
    }

    @Test func aFileInItsPlaceIsNoticedAtTheNextCommit() async throws {
        try Data(contentsOf: URL(fileURLWithPath: file)).write(to: URL(fileURLWithPath: file + ".new"))
        #expect(rename(file + ".new", file) == 0)
        try await isNoticed()
    }

    @Test func bytesOfOthersAreNoticedAtTheEnd() async throws {
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: file))
        try handle.write(contentsOf: Data(repeating: 9, count: 16))
        try handle.close()
        ledger.close()
        #expect(told == [.damaged])
    }

    /// Overwrites a page number in both copies of struct MDB_meta (mdb.c), and accepts the file's change as if the ledger
    /// itself had committed it.
    ///
    /// - Parameter offset: Offset in the page, whose header has 16 bytes.
    private func overwriteMeta(at offset: Int) throws {
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: file))
        for page in 0..<2 {
            try handle.seek(toOffset: UInt64(page * Int(getpagesize()) + offset))
            try handle.write(contentsOf: Data([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0]))
        }
        try handle.close()
        ledger.environment.foreignWrites.accept()
    }

    /// Makes every lookup of a table fail: overwrites the root of the table of tables.
    private func loseTables() throws { try overwriteMeta(at: 128) }

    @Test func aLastPageBeyondTheMapIsDamageToAReader() throws {
        try overwriteMeta(at: 136)
        #expect(throws: LedgerError.self) { try ledger.setting("a") }
        #expect(told == [.damaged])
    }

    @Test func aTableThatCanNotBeLookedUpIsDamageToAReader() throws {
        try loseTables()
        #expect(throws: LedgerError.self) { try ledger.setting("a") }
        #expect(told == [.damaged])
    }

    @Test func aTableThatCanNotBeLookedUpIsDamageToAWriter() async throws {
        try loseTables()
        ledger.commit([.setting("a", [2])]) {}
        try await Poll.until("trouble") { told == [.damaged] }
        ledger.close()
    }

    @Test func aTouchHarmsNothing() async throws {
        #expect(utimes(file, nil) == 0)
        #expect(await ledger.commit([.setting("a", [2])]))
        ledger.close()
        #expect(told.isEmpty)
    }
}
