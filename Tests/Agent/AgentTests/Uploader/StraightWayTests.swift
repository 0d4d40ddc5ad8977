import Clocks
import AgentTestSupport
import FileWatch
import Foundation
import Intake
import Ledger
import SystemPackage
import TestSupport
import Testing
import UploadCore

@testable import Agent

@Suite("Uploader: the way of a file")
struct UploaderWayTests {
    @Test("takes a file from its first event to its confirmation")
    func straight() async throws {
        let bench = try await Bench()
        try await bench.drop("trip/a.bin", content(1, 600_000))
        try await bench.ends("trip/a.bin", .done)
        let sidecar = try #require(bench.sidecar("trip/a.bin"))
        #expect(sidecar["progress"] as? Double == 1)
        #expect(sidecar["deduplicated"] as? Bool == false)
        #expect((sidecar["remote"] as? [String: Any])?["url"] as? String == "http://u/1")
        #expect(bench.remote.content(of: "1") == content(1, 600_000))
        let record = try #require(try bench.ledger.drop(at: try bench.path("trip/a.bin")))
        let key = try #require(record.key)
        #expect(record.state == .done)
        #expect(try bench.ledger.confirmation(of: key, scope: bench.remote.scope) != nil)
        #expect(try bench.ledger.upload(key) == nil)
    }

    @Test("reports a file as soon as it appears")
    func seen() async throws {
        let bench = try await Bench()
        try bench.write("a.bin", content(1))
        await bench.uploader.take([.seen(try bench.path("a.bin"))])
        try await Poll.until("a sidecar") { bench.sidecar("a.bin")?["state"] as? String == "settling" }
    }

    @Test("uploads one content once for all its paths")
    func duplicates() async throws {
        let bench = try await Bench()
        bench.remote.hold(.send)
        for name in ["a", "b", "c"] { try await bench.drop(name, content(1)) }
        for name in ["a", "b", "c"] { try await bench.until(name, is: .uploading) }
        bench.remote.release()
        for name in ["a", "b", "c"] { try await bench.ends(name, .done) }
        #expect(bench.remote.registered.count == 1)
        let shares = ["a", "b", "c"].map { bench.sidecar($0)?["deduplicated"] as? Bool }
        #expect(shares.filter { $0 == false }.count == 1)
    }

    @Test("finishes a file at once if its content was confirmed earlier")
    func confirmed() async throws {
        let bench = try await Bench()
        try await bench.drop("a", content(1))
        try await bench.ends("a", .done)
        try await bench.drop("b", content(1))
        try await bench.ends("b", .done)
        #expect(bench.remote.registered.count == 1)
        #expect(bench.sidecar("b")?["deduplicated"] as? Bool == true)
    }

    @Test("trusts no confirmation of other bytes with the same MD5")
    func collision() async throws {
        let bench = try await Bench()
        try await bench.drop("a", content(1))
        try await bench.ends("a", .done)
        let key = try #require(try await bench.record("a")?.key)
        await bench.ledger.commit([
            .confirmation(
                UploadCore.Confirmation(
                    key: key, seal: ContentSeal(size: 1000, digest: 0), scope: bench.remote.scope,
                    remote: RemoteObject(id: "9", url: nil), confirmedAt: bench.clock.now.wall))
        ])
        try await bench.drop("b", content(1))
        try await bench.ends("b", .failed)
        #expect((bench.sidecar("b")?["error"] as? [String: Any])?["code"] as? String == "key_collision")
    }

    @Test("rejects empty files and files that are not regular")
    func rejected() async throws {
        let bench = try await Bench()
        try await bench.drop("empty", [])
        try await bench.ends("empty", .rejected)
        #expect(mkfifo("\(bench.outbox)/pipe", 0o600) == 0)
        await bench.uploader.take([.odd(try bench.path("pipe"), try bench.status("pipe"))])
        try await bench.ends("pipe", .rejected)
        #expect(bench.remote.registered.isEmpty)
    }

    @Test("fails an unreadable file, and uploads the file once readable")
    func unreadable() async throws {
        let bench = try await Bench()
        try bench.write("a", content(1))
        await bench.uploader.take([.unreadable(try bench.path("a"), .permissionDenied)])
        try await bench.ends("a", .failed)
        chmod("\(bench.outbox)/a", 0o640)
        try await bench.ready("a")
        try await bench.ends("a", .done)
    }

    @Test("waits for a file whose disk does not answer, and uploads the file once readable")
    func unreadableNow() async throws {
        let bench = try await Bench()
        try bench.write("a", content(1))
        await bench.uploader.take([.unreadable(try bench.path("a"), .ioError)])
        try await Poll.until("the sidecar says why") {
            let sidecar = bench.sidecar("a")
            let error = sidecar?["error"] as? [String: Any]
            return sidecar?["state"] as? String == "waiting" && sidecar?["next_attempt_at"] is String
                && error?["code"] as? String == "unreadable" && error?["retryable"] as? Bool == true
        }
        try await bench.ready("a")
        try await bench.ends("a", .done)
    }

    @Test("fails a file that the server refuses permanently")
    func refused() async throws {
        let bench = try await Bench()
        bench.remote.refuse(.permanent(FileError(code: "http_413", message: "too much", retryable: false)))
        try await bench.drop("a", content(1))
        try await bench.ends("a", .failed)
        #expect((bench.sidecar("a")?["error"] as? [String: Any])?["code"] as? String == "http_413")
    }

    @Test("leaves a finished file alone if only its attributes change")
    func attributes() async throws {
        let bench = try await Bench()
        try await bench.drop("a", content(1))
        try await bench.ends("a", .done)
        let before = try #require(try await bench.record("a"))
        bench.clock.advance(by: .seconds(5))
        // Repeat until the ctime changes: the kernel's clock for timestamps is coarse.
        try await Poll.until("a new ctime") {
            chmod("\(bench.outbox)/a", 0o600)
            return try FileIdentity(bench.status("a")) != before.identity
        }
        try await bench.ready("a")
        let identity = FileIdentity(try bench.status("a"))
        try await Poll.until("the new identity") { try await bench.record("a")?.identity == identity }
        var after = try #require(try await bench.record("a"))
        after.identity = before.identity
        #expect(after == before)
        #expect(bench.remote.registered.count == 1)
    }

    @Test("ends while the server hangs", .timeLimit(.minutes(5)))
    func stops() async throws {
        let bench = try await Bench()
        bench.remote.hold(.send)
        try await bench.drop("a", content(1))
        try await bench.until("a", is: .uploading)
        await bench.uploader.stop(patience: .seconds(60))
        #expect(bench.sidecar("a")?["state"] as? String == "uploading")
    }
}
