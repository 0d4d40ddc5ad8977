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

    /// Makes every lookup of a table fail, and accepts the file's change as if the ledger itself had committed it.
    private func loseTables() throws {
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: file))
        for page in 0..<2 {
            // Offset 128: the root of the table of tables in struct MDB_meta (lmdb.h, mdb.c), after the page's header.
            try handle.seek(toOffset: UInt64(page * Int(getpagesize()) + 128))
            try handle.write(contentsOf: Data([0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0]))
        }
        try handle.close()
        ledger.environment.foreignWrites.accept()
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
