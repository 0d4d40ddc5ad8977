import AgentTestSupport
import FileWatch
import Foundation
import Reports
import Sidecars
import TestSupport
import Testing
import UploadCore

@testable import Agent

@Suite("Uploader: removed files")
struct UploaderRemovalTests {
    @Test("cancels the upload of a removed file once it is gone for two seconds")
    func removed() async throws {
        let bench = try await Bench()
        bench.remote.hold(.send)
        try await bench.drop("a", content(1))
        try await bench.until("a", is: .uploading)
        try await bench.remove("a")
        bench.clock.advance(by: .milliseconds(1999))
        await bench.uploader.handle(.path(.tick))
        #expect(try await bench.record("a")?.state.isFinal == false)
        bench.clock.advance(by: .milliseconds(1))
        await bench.uploader.handle(.path(.tick))
        try await bench.ends("a", .cancelled)
        #expect((bench.sidecar("a")?["error"] as? [String: Any])?["code"] as? String == "removed")
        try await Poll.until("its end on the server") { bench.remote.removed == ["1"] }
    }

    @Test("cancels nothing if the file is back within the grace")
    func back() async throws {
        let bench = try await Bench()
        bench.remote.hold(.send)
        try await bench.drop("a", content(1))
        try await bench.until("a", is: .uploading)
        try await bench.remove("a")
        try bench.write("a", content(1))
        await bench.passGrace()
        #expect(try await bench.record("a")?.state.isFinal == false)
        try await bench.ready("a")
        bench.remote.release()
        try await bench.ends("a", .done)
    }

    @Test("continues the upload for other paths with the content")
    func oneOfTwo() async throws {
        let bench = try await Bench()
        bench.remote.hold(.send)
        try await bench.drop("a", content(1))
        try await bench.until("a", is: .uploading)
        try await bench.drop("b", content(1))
        try await bench.until("b", is: .uploading)
        try await bench.remove("a")
        await bench.passGrace()
        try await bench.ends("a", .cancelled)
        bench.remote.release()
        try await bench.ends("b", .done)
        #expect(bench.remote.removed.isEmpty)
    }

    @Test("removes the sidecar of a removed finished file")
    func removedAfterwards() async throws {
        let bench = try await Bench()
        try await bench.drop("a", content(1))
        try await bench.ends("a", .done)
        try await bench.remove("a")
        await bench.passGrace()
        try await Poll.until("no sidecar") { bench.sidecar("a") == nil }
        #expect(try await bench.record("a") == nil)
    }

    @Test("counts everything below a removed directory as removed")
    func directory() async throws {
        let bench = try await Bench()
        bench.remote.hold(.send)
        try await bench.drop("d/a", content(1))
        try await bench.until("d/a", is: .uploading)
        try await bench.remove("d")
        await bench.passGrace()
        let path = try bench.path("d/a")
        try await Poll.until("its end") { await bench.uploader.core { $0.record(of: path)?.state } == .cancelled }
    }

    @Test("cancels nothing while the outbox is missing")
    func outboxLost() async throws {
        let bench = try await Bench()
        bench.remote.hold(.send)
        try await bench.drop("a", content(1))
        try await bench.until("a", is: .uploading)
        #expect(Foundation.rename(bench.outbox, bench.place.path("away")) == 0)
        await bench.uploader.take([.gone(try bench.path("a")), .rootLost(reason: "test")])
        await bench.passGrace()
        #expect(await bench.backend.health().problems.count == 1)
        #expect(Foundation.rename(bench.place.path("away"), bench.outbox) == 0)
        await bench.uploader.take([.rootBack(isSame: true)])
        bench.remote.release()
        try await bench.ends("a", .done)
    }

    @Test("cancels nothing when another directory takes the outbox's place, and continues there")
    func outboxExchanged() async throws {
        let bench = try await Bench()
        bench.remote.hold(.send)
        try await bench.drop("a", content(1))
        try await bench.until("a", is: .uploading)
        #expect(Foundation.rename(bench.outbox, bench.place.path("away")) == 0)
        try FileManager.default.createDirectory(atPath: bench.outbox, withIntermediateDirectories: false)
        await bench.uploader.take([.rootLost(reason: "test"), .rootBack(isSame: false), .gone(try bench.path("a"))])
        await bench.passGrace()
        #expect(try await bench.record("a")?.state.isFinal == false)
        _ = await bench.uploader.performOnAll(.pause, below: nil)
        await bench.uploader.parts.sidecars.flush()
        #expect(bench.sidecar("a") == nil, "its place is in the other directory")
        _ = await bench.uploader.performOnAll(.resume, below: nil)
        try await bench.drop("b", content(2))
        try await bench.until("b", is: .uploading)
        try await bench.remove("b")
        await bench.passGrace()
        #expect(try await bench.record("b")?.state == .cancelled)
        #expect(try await bench.record("a")?.state.isFinal == false)
    }
}
