import AgentTestSupport
import ControlAPI
import FileWatch
import Foundation
import TestSupport
import Testing
import UploadCore

@testable import Agent
@testable import Reports

@Suite("Uploader: user actions on files")
struct ActionTests {
    private func target(_ name: String, _ bench: Bench) throws -> ActionTarget {
        .file(id: FileReport.id(of: try bench.path(name)))
    }

    private func held() async throws -> Bench {
        let bench = try await Bench()
        bench.remote.hold(.send)
        try await bench.drop("a", content(1))
        try await bench.until("a", is: .uploading)
        return bench
    }

    @Test("an unknown id or key matches no file")
    func unknown() async throws {
        let bench = try await Bench()
        #expect(await bench.uploader.perform(.pause, on: .file(id: "no")) == nil)
        #expect(await bench.uploader.perform(.pause, on: .upload(ContentKey(high: 1, low: 2))) == nil)
    }

    @Test("a paused file stays paused after a restart, and continues when resumed")
    func pause() async throws {
        let first = try await held()
        let answer = try #require(await first.uploader.perform(.pause, on: try target("a", first)))
        #expect(answer.changed().map(\.state) == [.paused])
        #expect(answer.unchanged().isEmpty)
        await first.kill()
        let bench = try await Bench(place: first.place)
        #expect(await bench.backend.file(id: FileReport.id(of: try bench.path("a")))?.state == .paused)
        let again = try #require(await bench.uploader.perform(.pause, on: try target("a", bench)))
        #expect(again.unchanged().map(\.reason) == ["the file is already paused"])
        _ = await bench.uploader.perform(.resume, on: try target("a", bench))
        try await bench.ends("a", .done)
    }

    @Test("a file paused before its content is known is not sent, even after a restart")
    func pausedEarly() async throws {
        let first = try await Bench()
        try first.write("a", content(1))
        await first.uploader.take([.seen(try first.path("a"))])
        _ = await first.uploader.perform(.pause, on: try target("a", first))
        try await first.until("a", is: .paused)
        await first.kill()
        let bench = try await Bench(place: first.place)
        try await bench.ready("a")
        try await Poll.until("its content to be known") { try await bench.record("a")?.key != nil }
        try await bench.until("a", is: .paused)
        #expect(bench.remote.registered.isEmpty)
        _ = await bench.uploader.perform(.resume, on: try target("a", bench))
        try await bench.ends("a", .done)
    }

    @Test("pausing everything also holds new files, even after a restart, until everything is resumed")
    func pauseAll() async throws {
        let first = try await Bench()
        _ = await first.uploader.performOnAll(.pause, below: nil)
        await first.kill()
        let bench = try await Bench(place: first.place, remote: first.remote)
        #expect(await bench.backend.health().paused)
        try await bench.drop("a", content(1))
        try await bench.until("a", is: .paused)
        let one = try #require(await bench.uploader.perform(.resume, on: try target("a", bench)))
        #expect(one.unchanged().count == 1)
        #expect(bench.remote.registered.isEmpty)
        _ = await bench.uploader.performOnAll(.resume, below: nil)
        try await bench.ends("a", .done)
    }

    @Test("a cancelled file is uploaded again only on retry")
    func cancel() async throws {
        let bench = try await held()
        let answer = try #require(await bench.uploader.perform(.cancel, on: try target("a", bench)))
        #expect(answer.changed().map(\.state) == [.cancelled])
        try await bench.ends("a", .cancelled)
        #expect((bench.sidecar("a")?["error"] as? [String: Any])?["code"] as? String == "cancelled")
        try await Poll.until("its end on the server") { bench.remote.removed == ["1"] }
        try await bench.ready("a")
        #expect(try await bench.record("a")?.state == .cancelled)
        bench.remote.release()
        _ = await bench.uploader.perform(.retry, on: try target("a", bench))
        try await bench.ends("a", .done)
    }

    @Test("a file cancelled while being written is not sent after it settles")
    func cancelledEarly() async throws {
        let bench = try await Bench()
        try bench.write("a", content(1, 10))
        await bench.uploader.take([.seen(try bench.path("a"))])
        _ = await bench.uploader.perform(.cancel, on: try target("a", bench))
        try bench.write("a", content(1))
        await bench.uploader.take([.seen(try bench.path("a"))])
        try await bench.ready("a")
        // A change of attributes alone does not make a new file.
        #expect(chmod("\(bench.outbox)/a", 0o600) == 0)
        try await bench.ready("a")
        try await bench.ends("a", .cancelled)
        #expect(bench.remote.registered.isEmpty)
        try await bench.drop("a", content(2, 2000))
        try await bench.ends("a", .done)
    }

    @Test("a pause survives a rename and a restart before the content is known")
    func pausedEarlyAndRenamed() async throws {
        let first = try await Bench(settlesAtOnce: false)
        try first.write("a", content(1))
        await first.uploader.take([.seen(try first.path("a"))])
        _ = await first.uploader.perform(.pause, on: try target("a", first))
        try await first.rename("a", to: "b")
        try await first.until("b", is: .paused)
        await first.kill()
        let bench = try await Bench(place: first.place)
        try await bench.ready("b")
        try await Poll.until("its content to be known") { try await bench.record("b")?.key != nil }
        try await bench.until("b", is: .paused)
        #expect(bench.remote.registered.isEmpty)
    }

    @Test("an action on a path affects this path alone, an action on a key all paths of the content")
    func pathAndKey() async throws {
        let bench = try await held()
        try await bench.drop("b", content(1))
        try await bench.until("b", is: .uploading)
        _ = await bench.uploader.perform(.cancel, on: try target("a", bench))
        try await bench.until("b", is: .uploading)
        let key = try #require(try await bench.record("b")?.key)
        let answer = try #require(await bench.uploader.perform(.pause, on: .upload(key)))
        #expect(answer.changed().map(\.path) == [try bench.path("b")])
        #expect(answer.unchanged().map(\.reason) == ["the file is already cancelled"])
    }

    @Test("cancelling everything ends all uploads under way")
    func cancelAll() async throws {
        let bench = try await held()
        try await bench.drop("b", content(2))
        let answer = await bench.uploader.performOnAll(.cancel, below: nil)
        #expect(answer.outcomes.changed().count == 2 && answer.changed == 2 && !answer.continues)
        try await bench.ends("a", .cancelled)
        try await bench.ends("b", .cancelled)
    }

    @Test("a retry ends the wait for the next attempt")
    func retryWaiting() async throws {
        let bench = try await Bench()
        let busy = FileError(code: "server_error", message: "500", retryable: true)
        bench.remote.refuse(.temporary(busy))
        try await bench.drop("a", content(1))
        try await bench.until("a", is: .waiting)
        bench.remote.refuse(nil)
        let answer = await bench.uploader.performOnAll(.retry, below: nil)
        #expect(answer.changed == 1)
        try await bench.ends("a", .done)
        let done = try #require(await bench.uploader.perform(.retry, on: try target("a", bench)))
        #expect(done.unchanged().map(\.reason) == ["the file is already done"])
    }

    @Test("a file moved to the front is sent before earlier files")
    func first() async throws {
        let bench = try await Bench()
        bench.remote.hold(.send)
        for (name, seed) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] as [(String, UInt8)] {
            try await bench.drop(name, content(seed))
            try await bench.until(name, is: seed < 3 ? .uploading : .queued)
        }
        _ = await bench.uploader.perform(.first, on: try target("d", bench))
        let first = try #require(try await bench.record("d")?.key)
        let later = try #require(try await bench.record("c")?.key)
        let place = try #require(await bench.uploader.place(of: first))
        #expect(place < (try #require(await bench.uploader.place(of: later))))
        bench.remote.release()
        for name in ["a", "b", "c", "d"] { try await bench.ends(name, .done) }
    }

    @Test("pruning forgets only vanished files whose retention is over")
    func prune() async throws {
        let bench = try await held()
        _ = await bench.uploader.perform(.cancel, on: try target("a", bench))
        try await bench.ends("a", .cancelled)
        bench.remote.release()
        try await bench.drop("b", content(2))
        try await bench.ends("b", .done)
        try FileManager.default.removeItem(atPath: "\(bench.outbox)/a")
        #expect(await bench.uploader.prune() == PruneReport(sidecars: 0, entries: 0))
        bench.clock.advance(by: .seconds(3601))
        #expect(await bench.uploader.prune() == PruneReport(sidecars: 1, entries: 1))
        #expect(bench.sidecar("a") == nil)
        #expect(try await bench.record("a") == nil)
        #expect(try await bench.record("b")?.state == .done)
    }

    @Test("all counts add up")
    func metrics() async throws {
        let bench = try await Bench()
        try await bench.drop("a", content(1, 600_000))
        try await bench.ends("a", .done)
        let metrics = await bench.backend.metrics()
        #expect(metrics.files[.done] == 1)
        #expect(metrics.fragmentsSent == 2)
        #expect(metrics.fragmentsAcknowledged == 2)
        #expect(metrics.bytesAcknowledged == 600_000)
        #expect(metrics.bytesHashed == 600_000)
        #expect(metrics.uploadsDone == 1)
        // The server has the content: nothing is sent, and another path is done.
        try await bench.drop("b", content(1, 600_000))
        try await bench.ends("b", .done)
        #expect(await bench.backend.metrics().uploadsDone == 2)
        #expect(metrics.fragmentsInFlight == 0)
    }
}

extension Uploader {
    /// The position of an upload in the queue.
    fileprivate func place(of key: ContentKey) -> Int64? { core.machine.record(of: key)?.order }
}
