import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing
import UploadCore

@testable import Ledger

/// Something else than the ledger changes its file while it is open.
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

    @Test func aTouchHarmsNothing() async throws {
        #expect(utimes(file, nil) == 0)
        #expect(await ledger.commit([.setting("a", [2])]))
        ledger.close()
        #expect(told.isEmpty)
    }
}
