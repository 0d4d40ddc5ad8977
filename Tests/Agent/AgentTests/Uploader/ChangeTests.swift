import AgentTestSupport
import CLinux
import FileWatch
import Foundation
import LinuxSystem
import Synchronization
import TestSupport
import Testing
import UploadCore

@testable import Agent

@Suite("Uploader: files that change")
struct UploaderChangeTests {
    @Test("drops the old content of an overwritten file and uploads the new")
    func supersede() async throws {
        let bench = try await Bench()
        bench.remote.hold(.send)
        try await bench.drop("a", content(1))
        try await bench.until("a", is: .uploading)
        try await bench.drop("a", content(2))
        try await Poll.until("the old upload's end") { bench.remote.removed == ["1"] }
        bench.remote.release()
        try await bench.ends("a", .done)
        #expect(bench.remote.content(of: "2") == content(2))
    }

    @Test("uploads a finished file again when its content changes")
    func overwrittenAfterwards() async throws {
        let bench = try await Bench()
        try await bench.drop("a", content(1))
        try await bench.ends("a", .done)
        let first = try await bench.record("a")?.key
        try await bench.drop("a", content(2))
        try await Poll.until("the new content") {
            let record = try await bench.record("a")
            return record?.state == .done && record?.key != first
        }
        #expect(bench.remote.registered.count == 2)
    }

    @Test("never sends a mixture of old and new bytes, even if size and times are restored")
    func changedBehindTheBack() async throws {
        let bench = try await Bench()
        let old = content(1, 1_200_000)
        let new = content(2, 1_200_000)
        bench.remote.hold(.send, letting: 1)
        try await bench.drop("a", old)
        try await Poll.until("a fragment") { bench.remote.sent.count == 1 && bench.remote.isWaiting(at: .send) }
        let path = "\(bench.outbox)/a"
        var status = stat()
        #expect(stat(path, &status) == 0)
        let file = try #require(FileHandle(forWritingAtPath: path))
        try file.write(contentsOf: Data(new))
        try file.close()
        #expect(utimensat(AT_FDCWD, path, [status.st_atim, status.st_mtim], 0) == 0)
        bench.remote.release()
        try await bench.ends("a", .done)
        try await Poll.until("the old upload's end") { bench.remote.removed == ["1"] }
        #expect(bench.remote.content(of: "2") == new)
    }

    @Test("a file replaced by a directory counts as removed")
    func directoryInstead() async throws {
        let bench = try await Bench()
        bench.remote.hold(.send)
        try await bench.drop("a", content(1))
        try await bench.until("a", is: .uploading)
        try await bench.remove("a")
        try FileManager.default.createDirectory(atPath: "\(bench.outbox)/a", withIntermediateDirectories: false)
        await bench.passGrace()
        try await bench.ends("a", .cancelled)
    }

    @Test("keeps the upload and the record of a renamed file")
    func rename() async throws {
        let bench = try await Bench()
        bench.remote.hold(.send)
        try await bench.drop("a", content(1))
        try await bench.until("a", is: .uploading)
        try await bench.rename("a", to: "b")
        #expect(try await bench.record("a") == nil)
        try await Poll.until("the sidecar to move") { bench.sidecar("a") == nil && bench.sidecar("b") != nil }
        bench.remote.release()
        try await bench.ends("b", .done)
        #expect(bench.sidecar("b")?["path"] as? String == "b")
        #expect(bench.remote.registered.count == 1)
        #expect(bench.remote.removed.isEmpty)
    }

    @Test("keeps every file below a renamed directory, and the sidecars that moved along")
    func renameDirectory() async throws {
        let bench = try await Bench()
        try await bench.drop("old/done", content(1))
        try await bench.ends("old/done", .done)
        bench.remote.hold(.send)
        try await bench.drop("old/sub/way", content(2))
        try await bench.until("old/sub/way", is: .uploading)
        try await Poll.until("its sidecar") { bench.sidecar("old/sub/way") != nil }
        try await bench.rename("old", to: "new", isDirectory: true)
        bench.remote.release()
        try await bench.ends("new/sub/way", .done)
        try await Poll.until("the path in the sidecar") { bench.sidecar("new/done")?["path"] as? String == "new/done" }
        let names = try FileManager.default.subpathsOfDirectory(atPath: "\(bench.outbox)/new")
        #expect(
            names.sorted() == ["done", "done.outbox.json", "sub", "sub/way", "sub/way.outbox.json"])
        #expect(try await bench.record("old/done") == nil)
        #expect(bench.remote.registered.count == 2)
    }

    @Test("ends the upload of a file replaced by a rename")
    func renameOver() async throws {
        let bench = try await Bench()
        bench.remote.hold(.send)
        try await bench.drop("a", content(1))
        try await bench.drop("b", content(2))
        try await bench.until("a", is: .uploading)
        try await bench.until("b", is: .uploading)
        let dropped = try #require(try await bench.record("b")?.key)
        try await bench.rename("a", to: "b")
        try await Poll.until("the old upload's end") { bench.remote.removed.count == 1 }
        bench.remote.release()
        try await bench.ends("b", .done)
        #expect(try await bench.record("b")?.key != dropped)
    }

    @Test("settles a file again if renamed before its second hash")
    func renameWhileSettling() async throws {
        let bench = try await Bench(settlesAtOnce: false)
        bench.remote.hold(.send)
        try await bench.drop("a", content(1))
        try await bench.until("a", is: .uploading)
        await bench.uploader.perform([.takeAgain(try bench.path("a"), try #require(try await bench.record("a")?.key))])
        try await bench.rename("a", to: "b")
        #expect(bench.reconsidered.withLock { $0 } == [try bench.path("a"), try bench.path("b")])
        #expect(try await bench.record("b")?.state == .settling)
        bench.remote.release()
        try await bench.ready("b")
        try await bench.ends("b", .done)
    }

    @Test("hashes a file again if it changes during the hash")
    func missingAndBack() async throws {
        let bench = try await Bench()
        try bench.write("a", content(1))
        let status = try bench.status("a")
        await bench.uploader.take([.seen(try bench.path("a"))])
        try FileManager.default.removeItem(atPath: "\(bench.outbox)/a")
        await bench.uploader.take([.ready(try bench.path("a"), status)])
        try await Poll.until("the hash's end") { await bench.uploader.core { $0.book.hashCount } == 0 }
        try bench.write("a", content(2))
        // The agent may look for the file only now, so one grace may pass too early.
        try await Poll.until("the end of a's upload") {
            await bench.passGrace()
            return try await bench.record("a")?.state == .done
        }
        try await bench.ends("a", .done)
    }
}
