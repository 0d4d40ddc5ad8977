import Foundation
import Glibc
import TestSupport
import Testing
import UploadCore

@testable import Ledger

@Suite(.enabled(if: getuid() == 0, "mounting a small tmpfs needs root"))
struct FullDiskTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    /// Mounts a file system of 1 MiB.
    private func mountDisk() throws -> String {
        let mount = directory.path("disk")
        try FileManager.default.createDirectory(atPath: mount, withIntermediateDirectories: false)
        try #require(run("/usr/bin/mount", "-t", "tmpfs", "-o", "size=1m", "none", mount) == 0)
        return mount
    }

    @Test func aFullDiskIsToldOnceAndNothingIsLost() async throws {
        let mount = try mountDisk()
        defer { _ = run("/usr/bin/umount", "-l", mount) }
        let troubles = Recorder<LedgerTrouble?>()
        let ledger = try openLedger(mount) { troubles.add($0) }
        let value = [UInt8](repeating: 1, count: 2 << 20)
        async let stored = ledger.commit([.setting("large", value)])
        try await Poll.until("trouble") { !troubles.values.isEmpty }
        #expect(troubles.values.map { $0?.kind } == [.diskFull])
        #expect(run("/usr/bin/mount", "-o", "remount,size=16m", mount) == 0)
        #expect(await stored)
        #expect(try ledger.setting("large") == value)
        try await Poll.until("the end of the trouble") { troubles.values.count == 2 }
        #expect(troubles.values.last == .some(nil))
        ledger.close()
    }

    @Test func openingOnAFullDiskIsRefusedWithAReasonInsteadOfASignal() throws {
        let mount = try mountDisk()
        defer { _ = run("/usr/bin/umount", "-l", mount) }
        try openLedger(mount).close()
        unlink("\(mount)/ledger.lmdb-lock")
        // Fills the rest of the disk to the last page.
        _ = run("/usr/bin/dd", "if=/dev/zero", "of=\(mount)/filler", "bs=4k")
        let error = #expect(throws: LedgerError.self) { try openLedger(mount) }
        #expect(error?.description.contains("No space left on device") == true)
        #expect(error?.isDamage == false)
        unlink("\(mount)/filler")
        #expect(throws: Never.self) { try openLedger(mount).close() }
    }

    private func run(_ program: String, _ arguments: String...) -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        guard (try? process.run()) != nil else { return -1 }
        process.waitUntilExit()
        return process.terminationStatus
    }
}
