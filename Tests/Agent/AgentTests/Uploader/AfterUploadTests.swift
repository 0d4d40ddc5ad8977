import AgentConfiguration
import AgentTestSupport
import ControlAPI
import FileWatch
import Foundation
import Intake
import Ledger
import Remotes
import Reports
import TestSupport
import Testing
import UploadCore

@testable import Agent

@Suite("Uploader: files moved or deleted after their upload")
struct AfterUploadTests {
    private func exists(_ name: String, in bench: Bench) -> Bool {
        FileManager.default.fileExists(atPath: "\(bench.outbox)/\(name)")
    }

    private func isHeld(_ bench: Bench) -> Bool { exists(".outbox-holding", in: bench) }

    @Test("moves file and sidecar, and keeps their subdirectory")
    func moves() async throws {
        let bench = try await Bench(afterUpload: .move)
        try await bench.drop("trip/a.jpg", content(1))
        try await bench.ends("Sent/trip/a.jpg", .done)
        try await Poll.until("the new path in the sidecar") {
            bench.sidecar("Sent/trip/a.jpg")?["path"] as? String == "Sent/trip/a.jpg"
        }
        try await Poll.until("the old sidecar to go") { bench.sidecar("trip/a.jpg") == nil }
        #expect(!exists("trip/a.jpg", in: bench))
        let moved = try Data(contentsOf: URL(fileURLWithPath: "\(bench.outbox)/Sent/trip/a.jpg"))
        #expect(Array(moved) == content(1))
        // The id of the original path leads to the file at its new path.
        let report = await bench.backend.file(id: FileReport.id(of: try bench.path("trip/a.jpg")))
        #expect(report?.path == (try bench.path("Sent/trip/a.jpg")))
        #expect(report?.movedFrom == (try bench.path("trip/a.jpg")))
        #expect(await bench.backend.files(ListQuery()).reports.count == 1)
        // The file is in its new directory, and was dropped in the old one.
        for name in ["trip", "Sent/trip"] {
            let query = ListQuery<FileState>(below: try bench.path(name), atMost: 5)
            let listing = await bench.backend.files(query)
            #expect(listing.reports.map(\.path) == [try bench.path("Sent/trip/a.jpg")])
            #expect(listing.counts == [.done: 1])
        }
        #expect(await bench.backend.files(ListQuery(below: try bench.path("tri"))).reports.isEmpty)
        // The record that leads from the old path to the new one is no file.
        #expect(await bench.backend.health().files == ["done": 1])
        try await Poll.until("nothing to be held any more") { !isHeld(bench) }
    }

    @Test("a late event about a moved file does not start a new drop", arguments: [true, false])
    func lateWord(whileHeld: Bool) async throws {
        let bench = try await Bench(afterUpload: .move)
        let path = try bench.path("a.jpg")
        if whileHeld { bench.remote.hold(.finish) }
        try await bench.drop("a.jpg", content(1))
        if whileHeld {
            try await Poll.until("the question") { bench.remote.isWaiting(at: .finish) }
            bench.remote.release()
            try await Poll.until("the file to be taken") { !exists("a.jpg", in: bench) }
        } else {
            try await bench.ends("Sent/a.jpg", .done)
        }
        // The writer opened the file twice, and closed it again while the uploader moved it.
        await bench.uploader.take([.seen(path), .gone(path)])
        try await bench.ends("Sent/a.jpg", .done)
        #expect(await bench.uploader.core { $0.book.drops[path] } == nil)
        let report = await bench.backend.file(id: FileReport.id(of: path))
        #expect(report?.path == (try bench.path("Sent/a.jpg")))
        #expect(report?.state == .done)
    }

    @Test("takes the next free name if a moved file already has the name")
    func takenName() async throws {
        let bench = try await Bench(afterUpload: .move)
        try bench.write("Sent/a.jpg", content(9))
        try await bench.drop("a.jpg", content(1))
        try await bench.ends("Sent/a (2).jpg", .done)
        let other = try Data(contentsOf: URL(fileURLWithPath: "\(bench.outbox)/Sent/a.jpg"))
        #expect(Array(other) == content(9))
    }

    @Test("deletes the file and keeps its sidecar for the retention")
    func deletes() async throws {
        let bench = try await Bench(afterUpload: .delete)
        try await bench.drop("a.jpg", content(1))
        try await Poll.until("the file to go") { !exists("a.jpg", in: bench) && !isHeld(bench) }
        await bench.uploader.take([.gone(try bench.path("a.jpg"))])
        await bench.passGrace()
        try await bench.ends("a.jpg", .done)
        #expect(try await bench.record("a.jpg")?.disposal == .deleted)
    }

    @Test("leaves a file that changed after its upload in place, and uploads it again")
    func changed() async throws {
        let bench = try await Bench(afterUpload: .delete)
        bench.remote.hold(.finish)
        try await bench.drop("a.jpg", content(1))
        try await Poll.until("the question") { bench.remote.isWaiting(at: .finish) }
        try bench.write("a.jpg", content(2))
        bench.remote.release()
        try await Poll.until("both contents on the server") { Set(bench.remote.registered).count == 2 }
        try await Poll.until("the new file to go") { !exists("a.jpg", in: bench) && !isHeld(bench) }
    }

    @Test("detects changed bytes behind unchanged size and times")
    func changedInSecret() async throws {
        let bench = try await Bench(afterUpload: .delete)
        bench.remote.hold(.finish)
        try await bench.drop("a.jpg", content(1))
        try await Poll.until("the question") { bench.remote.isWaiting(at: .finish) }
        let path = try bench.path("a.jpg")
        try bench.write("a.jpg", content(2))
        // Make the record name the new identity, as if no event had reported the change.
        let status = try bench.status("a.jpg")
        await bench.uploader.pretend(path, is: FileIdentity(status))
        bench.remote.release()
        try await Poll.until("the new content on the server") { Set(bench.remote.registered).count == 2 }
    }

    @Test("asks the server again before deleting a file because of an old confirmation")
    func oldConfirmation() async throws {
        let first = try await Bench()
        try await first.drop("a.jpg", content(1))
        try await first.ends("a.jpg", .done)
        await first.kill()
        let bench = try await Bench(place: first.place, remote: first.remote, afterUpload: .delete)
        bench.remote.hold(.finish)
        try await bench.drop("b.jpg", content(1))
        try await Poll.until("the question") { bench.remote.isWaiting(at: .finish) }
        #expect(exists("b.jpg", in: bench))
        bench.remote.release()
        try await Poll.until("the file to go") { !exists("b.jpg", in: bench) }
        #expect(bench.remote.registered.count == 1)
        try await bench.ends("b.jpg", .done)
        #expect(bench.sidecar("b.jpg")?["deduplicated"] as? Bool == true)
    }

    @Test("registers a file again, with its SHA-256, if the server recognised the content by MD5 alone")
    func confirmationByMD5Alone() async throws {
        let first = try await Bench()
        try await first.drop("a.jpg", content(1))
        try await first.ends("a.jpg", .done)
        #expect(first.remote.descriptions.map(\.sha256) == [nil])
        let key = try #require(try await first.record("a.jpg")?.key)
        var known = try #require(try first.ledger.confirmation(of: key, scope: first.remote.scope))
        known.isByMD5Alone = true
        await first.ledger.commit([.confirmation(known)])
        await first.kill()
        let bench = try await Bench(place: first.place, remote: first.remote, afterUpload: .delete)
        try await bench.drop("b.jpg", content(1))
        try await Poll.until("the file to go") { !exists("b.jpg", in: bench) }
        #expect(bench.remote.registered.count == 2)
        #expect(bench.remote.descriptions.last?.sha256 != nil)
    }

    @Test(
        "deletes no file registered by MD5 alone before deletion was configured, until its bytes are sent")
    func registeredByMD5Alone() async throws {
        let first = try await Bench()
        first.remote.hold(.register)
        try await first.drop("a.jpg", content(1))
        try await Poll.until("the registration") { first.remote.isWaiting(at: .register) }
        await first.kill()
        let server = ScriptedRemote()
        server.callExistingByMD5()
        let bench = try await Bench(place: first.place, remote: server, afterUpload: .delete)
        try await Poll.until("the file to go") { !exists("a.jpg", in: bench) && !isHeld(bench) }
        #expect(server.descriptions.first?.sha256 == nil)
        #expect(server.sent.count == 1, "the bytes that were deleted")
    }

    @Test("leaves a file that can't be moved in place, reports the problem, and retries later")
    func cannotMove() async throws {
        let bench = try await Bench(afterUpload: .move)
        // A file in the place of the directory.
        try bench.write("Sent", content(9))
        try await bench.drop("a.jpg", content(1))
        try await Poll.until("the trouble to be told") { await bench.uploader.status.problems[.afterUpload] != nil }
        try await bench.ends("a.jpg", .done)
        #expect(exists("a.jpg", in: bench))
        try FileManager.default.removeItem(atPath: "\(bench.outbox)/Sent")
        await bench.uploader.handle(.retireStuck)
        try await bench.ends("Sent/a.jpg", .done)
        #expect(await bench.uploader.status.problems[.afterUpload] == nil)
        #expect(bench.remote.registered.count == 1)
    }

    @Test("uploads a file dropped under a name whose former file is just being removed")
    func nameTakenMeanwhile() async throws {
        let bench = try await Bench(afterUpload: .delete)
        try await bench.drop("a.jpg", content(1))
        try await Poll.until("the file to go") { !exists("a.jpg", in: bench) }
        try await bench.drop("a.jpg", content(2))
        try await Poll.until("both contents on the server") { Set(bench.remote.registered).count == 2 }
        try await Poll.until("the second file to go") { !exists("a.jpg", in: bench) && !isHeld(bench) }
    }

    @Test("puts back files that a kill left in the holding area, then continues")
    func killed() async throws {
        let first = try await Bench(afterUpload: .delete)
        try await first.drop("a.jpg", content(1))
        try await Poll.until("the file to go") { !exists("a.jpg", in: first) && !isHeld(first) }
        await first.kill()
        // The state after a kill before the deletion.
        try first.write(".outbox-holding/trip/a.jpg", content(1))
        let bench = try await Bench(place: first.place, remote: first.remote, afterUpload: .delete)
        #expect(exists("trip/a.jpg", in: bench))
        #expect(!isHeld(bench))
        try await bench.ready("trip/a.jpg")
        try await Poll.until("the file to go") { !exists("trip/a.jpg", in: bench) && !isHeld(bench) }
        #expect(bench.remote.registered.count == 1)
    }
}

extension Uploader {
    /// Replaces the file identity in a path's record.
    fileprivate func pretend(_ path: RelativePath, is identity: FileIdentity) {
        guard var record = core.book.drops[path] else { return }
        record.identity = identity
        _ = core.book.keep(record)
    }
}
