import AgentTestSupport
import Foundation
import Ledger
import Reports
import TestSupport
import Testing

@testable import Agent
@testable import FileWatch
@testable import Intake
@testable import UploadCore

@Suite("Uploader: more files than the window holds")
struct IntakeWindowTests {
    private func watch(for bench: Bench) throws -> FileWatch {
        let rules = IntakeRules(mediaOnly: false, maxFileSize: 1 << 30, ignore: [], moveTo: nil)
        let options = FileWatch.Options(
            settle: .milliseconds(20),
            isIgnored: { path, _ in rules.isIgnored(path) },
            isKnown: { [ledger = bench.ledger] path, status in
                (try? ledger.drop(at: path))?.isJudged(for: FileIdentity(status)) == true
            },
            load: bench.uploader.load)
        return try FileWatch(root: bench.outbox, options: options) { [uploader = bench.uploader] events in
            uploader.hear(events)
        }
    }

    @Test("all are uploaded, those found at the start and those dropped later, and health knows when all are known")
    func allAreTaken() async throws {
        let bench = try await Bench(clock: .ahead(by: .zero), window: 3)
        let count = 60
        for index in 0..<count { try bench.write("old\(index % 3)/\(index)", content(UInt8(index))) }
        let watch = try watch(for: bench)
        defer { watch.stop() }
        watch.start()
        try await Poll.until("the old files") { await bench.backend.health().files?["done"] == count }
        for index in 0..<count { try bench.write("new\(index % 3)/\(index)", content(UInt8(count + index))) }
        try await Poll.until("the new files") { await bench.backend.health().files?["done"] == 2 * count }
        try await Poll.until("the end of the scan") { await bench.backend.health().scanned }
        await bench.uploader.stop()
    }

    @Test("each file of a burst gets its sidecar, though most reports are delayed")
    func burst() async throws {
        let bench = try await Bench(clock: .ahead(by: .zero))
        bench.remote.hold(.register)
        let count = 2 * ReportPace.mostAtOnce
        for index in 0..<count { try await bench.drop("\(index)", content(UInt8(index))) }
        try await Poll.until("the sidecars") {
            bench.clock.advance(by: ReportPace.interval)
            let names = try FileManager.default.contentsOfDirectory(atPath: bench.outbox)
            return names.count { $0.hasSuffix(".outbox.json") } == count
        }
        bench.remote.release()
        await bench.uploader.stop()
    }

    @Test("queued small uploads are load of the watch, but not for long if none ends")
    func queued() async throws {
        let bench = try await Bench()
        bench.remote.hold(.register)
        let count = 20
        for index in 0..<count { try await bench.drop("\(index)", content(UInt8(index))) }
        try await Poll.until("all to be queued") {
            await bench.uploader.core { $0.machine.smallQueuedCount } == count && bench.uploader.load.count == count
        }
        try await Poll.until("the watch to be free again") {
            bench.clock.advance(by: IntakePace.interval)
            return bench.uploader.load.count == 0
        }
        bench.remote.release()
        await bench.uploader.stop()
    }

    @Test("while the watch defers files, health does not say that the outbox is scanned")
    func deferring() async throws {
        let bench = try await Bench()
        await bench.uploader.take([.scanned(ScanSummary())])
        #expect(await bench.backend.health().scanned)
        await bench.uploader.take([.deferring(true)])
        #expect(await !bench.backend.health().scanned)
        await bench.uploader.take([.deferring(false)])
        #expect(await bench.backend.health().scanned)
        await bench.uploader.stop()
    }
}
