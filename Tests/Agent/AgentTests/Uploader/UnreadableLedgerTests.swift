import AgentTestSupport
import FileWatch
import Glibc
import Reports
import Synchronization
import TestSupport
import Testing
import UploadCore

@testable import Agent
@testable import Ledger

@Suite("Uploader: while the ledger can't be read")
struct UnreadableLedgerTests {
    private func file(of bench: Bench) -> String { bench.place.path("state/ledger.lmdb") }

    /// Makes every read of the ledger fail from now on.
    private static func breakReads(of ledger: Ledger, in file: String) {
        #expect(rename(file, file + ".away") == 0 && mkdir(file, 0o700) == 0)
        #expect(throws: LMDBError.self) { try ledger.environment.reopen() }
    }

    private func mend(_ bench: Bench) throws {
        let file = file(of: bench)
        #expect(rmdir(file) == 0 && rename(file + ".away", file) == 0)
        try bench.ledger.environment.reopen()
    }

    private func untilReconsidered(_ name: String, _ bench: Bench) async throws {
        let path = try bench.path(name)
        try await Poll.until("\(name) to settle again") { bench.reconsidered.withLock { $0.contains(path) } }
    }

    private func uploaded() async throws -> Bench {
        let bench = try await Bench(settlesAtOnce: false)
        try await bench.drop("a", content(1))
        try await bench.ends("a", .done)
        return bench
    }

    @Test("a confirmed content is not sent again after a commit whose meta page could not be written")
    func failedMetaPage() async throws {
        let bench = try await uploaded()
        #expect(try FullDevice.replaceSynchronousDescriptors(of: file(of: bench)) == 1)
        let table = LedgerTable.settings.table
        #expect(throws: LMDBError.self) {
            try bench.ledger.environment.write { transaction throws(LMDBError) in
                try transaction.put(table, [1], [1])
            }
        }
        try await bench.drop("b", content(1))
        try await bench.ends("b", .done)
        #expect(bench.remote.registered.count == 1)
    }

    @Test("a file with an unreadable record is checked again later, and not sent twice")
    func unreadableRecord() async throws {
        let bench = try await uploaded()
        Self.breakReads(of: bench.ledger, in: file(of: bench))
        try await bench.drop("a", content(1))
        try await untilReconsidered("a", bench)
        try mend(bench)
        try await bench.ready("a")
        try await bench.drop("b", content(1))
        try await bench.ends("b", .done)
        #expect(try await bench.record("a")?.state == .done)
        #expect(bench.remote.registered.count == 1)
    }

    @Test("a file with an unreadable confirmation is hashed again later, and not sent twice")
    func unreadableConfirmation() async throws {
        let bench = try await uploaded()
        try bench.write("b", content(1))
        let (path, status) = (try bench.path("b"), try bench.status("b"))
        let (ledger, file) = (bench.ledger, file(of: bench))
        bench.uploader.run { uploader in
            uploader.take([.ready(path, status)])
            // The uploader receives the hash on this same thread, and therefore after this closure.
            Self.breakReads(of: ledger, in: file)
        }
        try await untilReconsidered("b", bench)
        try mend(bench)
        try await bench.ready("b")
        try await bench.ends("b", .done)
        #expect(bench.remote.registered.count == 1)
        #expect(bench.sidecar("b")?["deduplicated"] as? Bool == true)
    }

    @Test("a cancelled file stays cancelled if its record can't be read")
    func cancelled() async throws {
        let bench = try await Bench(settlesAtOnce: false)
        bench.remote.hold(.send)
        try await bench.drop("a", content(1))
        try await bench.until("a", is: .uploading)
        _ = await bench.uploader.perform(.cancel, on: .file(id: FileReport.id(of: try bench.path("a"))))
        try await bench.ends("a", .cancelled)
        Self.breakReads(of: bench.ledger, in: file(of: bench))
        let path = try bench.path("a")
        await bench.uploader.take([.seen(path), .ready(path, try bench.status("a"))])
        try await untilReconsidered("a", bench)
        try mend(bench)
        try await bench.ready("a")
        #expect(try await bench.record("a")?.state == .cancelled)
        bench.remote.release()
        #expect(bench.remote.registered.count == 1)
    }

    @Test("a product is kept while nobody can tell whether an upload needs it")
    func product() async throws {
        let first = try await Bench()
        first.remote.hold(.send)
        for number in 1...60 { try await first.drop("\(number).jpg", content(UInt8(number))) }
        await first.kill()
        // The machine holds some of the uploads, the ledger all.
        let bench = try await Bench(place: first.place, remote: first.remote, window: 1)
        #expect(await bench.uploader.core { $0.machine.hasBacklog })
        let stray = ContentKey(high: 1, low: 1)
        #expect(await bench.uploader.core { !$0.needsProduct(stray) })
        Self.breakReads(of: bench.ledger, in: file(of: bench))
        #expect(await bench.uploader.core { $0.machine.hasBacklog })
        #expect(await bench.uploader.core { $0.needsProduct(stray) })
        try mend(bench)
        #expect(await bench.uploader.core { !$0.needsProduct(stray) })
        bench.remote.release()
    }
}
