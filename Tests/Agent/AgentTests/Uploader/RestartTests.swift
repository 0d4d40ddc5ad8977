import AgentTestSupport
import FileWatch
import Foundation
import TestSupport
import Testing
import UploadCore

@testable import Agent
@testable import Ledger

@Suite("Uploader: restarts")
struct UploaderRestartTests {
    @Test("resumes after a kill at any step", arguments: [ScriptedRemote.Step.register, .send, .finish])
    func killed(step: ScriptedRemote.Step) async throws {
        let remote = ScriptedRemote()
        remote.hold(step, letting: step == .send ? 1 : 0)
        let first = try await Bench(remote: remote)
        let bytes = content(1, 1_200_000)
        try await first.drop("a", bytes)
        try await Poll.until("the step") { remote.isWaiting(at: step) }
        let acknowledged = step == .register ? 0 : step == .send ? 1 : 3
        try await Poll.until("what is durable") {
            guard acknowledged > 0 else { return try first.ledger.drop(at: try first.path("a")) != nil }
            guard let key = try first.ledger.drop(at: try first.path("a"))?.key,
                let upload = try first.ledger.upload(key)
            else { return false }
            return try first.ledger.fragments(of: key, plan: upload.plan).acknowledged.count == acknowledged
        }
        await first.kill()
        let second = try await Bench(place: first.place, remote: remote, clock: first.clock)
        remote.release()
        try await second.ends("a", .done)
        // The killed run's request may reach the server too, before or after the second run's.
        #expect(["1", "2"].contains { remote.content(of: $0) == bytes })
        #expect(remote.registered.count <= (step == .register ? 2 : 1))
        // The second run repeats at most the fragments in flight.
        #expect(remote.sent.count <= 3 + (step == .send ? 2 : 0))
    }

    @Test("sends no confirmed file again, and writes the sidecar that the kill prevented")
    func killedAfterCommit() async throws {
        let first = try await Bench()
        try await first.drop("a", content(1))
        try await first.ends("a", .done)
        await first.kill()
        try FileManager.default.removeItem(atPath: "\(first.outbox)/a.outbox.json")
        let second = try await Bench(place: first.place, remote: first.remote)
        try await second.ends("a", .done)
        #expect(first.remote.registered.count == 1)
    }

    @Test("leaves complete sidecars alone")
    func ended() async throws {
        let first = try await Bench()
        try await first.drop("a", content(1))
        try await first.ends("a", .done)
        await first.uploader.stop()
        await first.kill()
        let before = try first.status("a.outbox.json")
        let second = try await Bench(place: first.place, remote: first.remote)
        await second.uploader.stop()
        #expect(try second.status("a.outbox.json") == before)
    }

    @Test("catches up after a kill, and has nothing to catch up on after an orderly end")
    func caughtUp() async throws {
        let first = try await Bench()
        #expect(try first.ledger.setting(LedgerSetting.caughtUp) == nil)
        try await first.drop("a", content(1))
        try await first.ends("a", .done)
        try await Poll.until("the first run to have caught up") { await first.uploader.isCaughtUp }
        await first.uploader.stop(patience: .seconds(150))
        #expect(try first.ledger.setting(LedgerSetting.caughtUp) != nil)
        await first.kill()
        let second = try await Bench(place: first.place, remote: first.remote)
        #expect(try second.ledger.setting(LedgerSetting.caughtUp) == nil)
        #expect(await second.uploader.isCaughtUp)
        await second.kill()
        try FileManager.default.removeItem(atPath: "\(first.outbox)/a.outbox.json")
        let third = try await Bench(place: first.place, remote: first.remote)
        try await third.ends("a", .done)
        await third.kill()
    }

    @Test("hashes a file again whose upload can't be read")
    func lostUpload() async throws {
        let remote = ScriptedRemote()
        remote.hold(.send)
        let first = try await Bench(remote: remote)
        try await first.drop("a", content(1))
        try await first.until("a", is: .uploading)
        let key = try #require(try first.ledger.drop(at: try first.path("a"))?.key)
        await first.kill()
        remote.release()
        // Its place in the queue stays.
        let environment = try Environment(
            path: first.place.path("state/ledger.lmdb"), tables: LedgerTable.allCases.map(\.rawValue),
            mapSize: 64 << 20)
        try environment.write { transaction throws(LMDBError) in
            try transaction.put(LedgerTable.uploads.table, LedgerKeys.content(key), [1, 2, 3])
        }
        environment.close()
        let second = try await Bench(place: first.place, remote: remote)
        try await second.ends("a", .done)
    }

    @Test("starts over with another server")
    func otherScope() async throws {
        let first = try await Bench()
        try await first.drop("done", content(1))
        try await first.ends("done", .done)
        first.remote.hold(.send)
        try await first.drop("way", content(2))
        try await first.until("way", is: .uploading)
        try await Poll.until("its record") { try first.ledger.drop(at: try first.path("way")) != nil }
        await first.kill()
        let second = try await Bench(place: first.place, remote: ScriptedRemote(scope: "test http://other default"))
        #expect(try second.ledger.drop(at: try second.path("done")) == nil)
        #expect(try second.ledger.drop(at: try second.path("way")) == nil)
        try await second.ready("done")
        try await second.ready("way")
        try await second.ends("done", .done)
        try await second.ends("way", .done)
        #expect(second.remote.registered.count == 2)
    }

    @Test("continues with the other path if one of two vanished meanwhile")
    func vanished() async throws {
        let first = try await Bench()
        first.remote.hold(.send)
        try await first.drop("a", content(1))
        try await first.drop("b", content(1))
        try await first.until("b", is: .uploading)
        try await Poll.until("both records") {
            try first.ledger.drop(at: try first.path("a")) != nil && first.ledger.drop(at: try first.path("b")) != nil
        }
        await first.kill()
        try FileManager.default.removeItem(atPath: "\(first.outbox)/a")
        let second = try await Bench(place: first.place, remote: first.remote)
        first.remote.release()
        try await second.ends("b", .done)
        #expect(first.remote.registered.count == 1)
    }

    @Test("cancels nothing while another directory is in the outbox's place")
    func exchanged() async throws {
        let first = try await Bench()
        first.remote.hold(.send)
        try await first.drop("a", content(1))
        try await first.until("a", is: .uploading)
        await first.uploader.handle(.scanFound(Findings(isEverything: true)))
        await first.uploader.stop()
        await first.kill()
        #expect(rename(first.outbox, first.place.path("away")) == 0)
        for _ in 1...2 {
            let other = try await Bench(place: first.place, remote: first.remote, clock: first.clock)
            await other.uploader.handle(.scanFound(Findings(isEverything: false)))
            await other.uploader.take([.gone(try other.path("a"))])
            await other.passGrace()
            #expect(try await other.record("a")?.state.isFinal == false)
            #expect(other.sidecar("a") == nil, "its place is in the other directory")
            await other.uploader.stop()
            await other.kill()
        }
        try FileManager.default.removeItem(atPath: first.outbox)
        #expect(rename(first.place.path("away"), first.outbox) == 0)
        let last = try await Bench(place: first.place, remote: first.remote, clock: first.clock)
        first.remote.release()
        try await last.ends("a", .done)
    }
}

/// A scan that found every path, or none.
private struct Findings: ScanFindings {
    var isEverything: Bool
    var isWhole: Bool { true }
    var knownCount: Int { 0 }

    func contains(_ path: RelativePath) -> Bool { isEverything }
    func found(_ path: RelativePath) -> Bool { isEverything }
}
