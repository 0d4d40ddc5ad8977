import AgentTestSupport
import FileWatch
import Foundation
import TestSupport
import Testing
import UploadCore

@Suite("Uploader: renames that the kernel did not report as renames")
struct RenameTests {
    private func rename(_ bench: Bench, _ old: String, to new: String) throws {
        let target = URL(fileURLWithPath: "\(bench.outbox)/\(new)")
        try FileManager.default.createDirectory(
            at: target.deletingLastPathComponent(), withIntermediateDirectories: true)
        #expect(Foundation.rename("\(bench.outbox)/\(old)", target.path) == 0)
    }

    @Test("an upload follows the file if the old name is missed first")
    func goneFirst() async throws {
        let bench = try await Bench()
        bench.remote.hold(.send)
        try await bench.drop("a", content(1))
        try await bench.until("a", is: .uploading)
        try rename(bench, "a", to: "new/b")
        await bench.uploader.take([.gone(try bench.path("a")), .seen(try bench.path("new/b"))])
        try await bench.ready("new/b")
        try await bench.until("new/b", is: .uploading)
        await bench.passGrace()
        bench.remote.release()
        try await bench.ends("new/b", .done)
        #expect(bench.sidecar("new/b")?["deduplicated"] as? Bool == false)
        #expect(bench.remote.registered.count == 1)
        #expect(bench.remote.removed.isEmpty)
        #expect(try await bench.record("a") == nil)
        try await Poll.until("the old sidecar to go") { bench.sidecar("a") == nil }
    }

    @Test("an upload follows the file if the new name is found first")
    func foundFirst() async throws {
        let bench = try await Bench()
        bench.remote.hold(.send)
        try await bench.drop("a", content(1))
        try await bench.until("a", is: .uploading)
        try rename(bench, "a", to: "b")
        await bench.uploader.take([.seen(try bench.path("b"))])
        try await bench.ready("b")
        try await Poll.until("the old name to be forgotten") { try await bench.record("a") == nil }
        await bench.uploader.take([.gone(try bench.path("a"))])
        await bench.passGrace()
        bench.remote.release()
        try await bench.ends("b", .done)
        #expect(bench.remote.registered.count == 1)
        #expect(bench.remote.removed.isEmpty)
    }

    @Test("a removal waits until the content of a new name is known, however long hashing takes")
    func slowHash() async throws {
        let bench = try await Bench()
        bench.remote.hold(.send)
        try await bench.drop("a", content(1))
        try await bench.until("a", is: .uploading)
        try rename(bench, "a", to: "b")
        await bench.uploader.take([.gone(try bench.path("a")), .seen(try bench.path("b"))])
        await bench.passGrace()
        #expect(try await bench.record("a")?.state.isFinal == false)
        try await bench.ready("b")
        bench.remote.release()
        try await bench.ends("b", .done)
        #expect(bench.remote.removed.isEmpty)
    }

    @Test("a finished file keeps the outcome in its sidecar under the new name")
    func finished() async throws {
        let bench = try await Bench()
        try await bench.drop("a", content(1))
        try await bench.ends("a", .done)
        let accepted = try #require(bench.sidecar("a")?["accepted_at"] as? String)
        bench.clock.advance(by: .seconds(60))
        try rename(bench, "a", to: "b")
        await bench.uploader.take([.gone(try bench.path("a")), .seen(try bench.path("b"))])
        try await bench.ready("b")
        try await bench.ends("b", .done)
        #expect(bench.sidecar("b")?["accepted_at"] as? String == accepted)
        #expect(bench.sidecar("b")?["deduplicated"] as? Bool == false)
        try await Poll.until("the old sidecar to go") { bench.sidecar("a") == nil }
    }

    @Test("a copy is no rename: both files get an outcome")
    func copy() async throws {
        let bench = try await Bench()
        bench.remote.hold(.send)
        try await bench.drop("a", content(1))
        try await bench.until("a", is: .uploading)
        try await bench.drop("b", content(1))
        bench.remote.release()
        try await bench.ends("a", .done)
        try await bench.ends("b", .done)
    }
}
