import AgentConfiguration
import AgentTestSupport
import Foundation
import Remotes
import Reports
import TestSupport
import Testing
import UploadCore

@testable import Agent
@testable import FileWatch

@Suite("Uploader: sizes and thumbnails")
struct UploaderMediaTests {
    @Test("writes the size to the sidecar, and has a thumbnail made")
    func sizes() async throws {
        let media = ScriptedExaminer(facts: MediaFacts(width: 4032, height: 3024))
        let bench = try await Bench(media: media)
        try await bench.drop("a.jpg", picture(1))
        try await bench.ends("a.jpg", .done)
        try await Poll.until("the size") { bench.sidecar("a.jpg")?["width"] as? Int == 4032 }
        #expect(bench.sidecar("a.jpg")?["height"] as? Int == 3024)
        #expect(bench.sidecar("a.jpg")?["duration"] is NSNull)
        let key = try #require(try await bench.record("a.jpg")?.key)
        try await Poll.until("a thumbnail") { media.thumbnails == [key] }
        try await Poll.until("a record of it") { try await bench.record("a.jpg")?.isExamined == true }
    }

    @Test("measures a content once for all its paths")
    func once() async throws {
        let media = ScriptedExaminer(facts: MediaFacts(width: 3, height: 2))
        let bench = try await Bench(media: media)
        try await bench.drop("a.jpg", picture(1))
        try await Poll.until("it is examined") { try await bench.record("a.jpg")?.isExamined == true }
        try await bench.drop("b.jpg", picture(1))
        try await bench.ends("b.jpg", .done)
        #expect(bench.sidecar("b.jpg")?["width"] as? Int == 3)
        #expect(media.thumbnailsMade == 1)
    }

    @Test("uploads during a hanging examination, and accepts its result afterwards")
    func beside() async throws {
        let media = ScriptedExaminer(facts: MediaFacts(width: 3, height: 2, duration: 1.5))
        media.hold()
        let bench = try await Bench(media: media)
        try await bench.drop("a.jpg", picture(1))
        try await bench.ends("a.jpg", .done)
        #expect(bench.sidecar("a.jpg")?["width"] is NSNull)
        media.release()
        try await Poll.until("the size") { bench.sidecar("a.jpg")?["width"] as? Int == 3 }
        #expect(bench.sidecar("a.jpg")?["duration"] as? Double == 1.5)
        #expect(bench.sidecar("a.jpg")?["state"] as? String == "done")
    }

    @Test("does not examine files that are neither picture nor video")
    func other() async throws {
        let media = ScriptedExaminer(facts: MediaFacts(width: 3, height: 2))
        let bench = try await Bench(media: media)
        try await bench.drop("a.bin", content(1))
        try await bench.drop("b.jpg", picture(1))
        try await Poll.until("the picture is examined") { try await bench.record("b.jpg")?.isExamined == true }
        #expect(try await bench.record("a.bin")?.facts == nil)
        #expect(media.thumbnailsMade == 1)
    }

    @Test("examines more contents than it queues")
    func many() async throws {
        let media = ScriptedExaminer(facts: MediaFacts(width: 3, height: 2))
        media.hold()
        let bench = try await Bench(media: media, examinationRoom: 10)
        let names = (0..<40).map { "\($0).jpg" }
        for (number, name) in names.enumerated() {
            try await bench.drop(name, picture(1) + [UInt8(number / 256), UInt8(number % 256)])
        }
        try await bench.ends(names[names.count - 1], .done)
        media.release()
        try await Poll.until("all thumbnails") { media.thumbnailsMade == names.count }
        try await Poll.until("nothing is left") { await bench.uploader.isCaughtUp }
        for name in names { #expect(try await bench.record(name)?.isExamined == true) }
    }

    @Test("continues in the next run after a kill")
    func restart() async throws {
        let media = ScriptedExaminer(facts: MediaFacts(width: 3, height: 2))
        media.hold()
        let bench = try await Bench(media: media)
        try await bench.drop("a.jpg", picture(1))
        try await bench.ends("a.jpg", .done)
        await bench.kill()
        media.release()
        let next = try await Bench(place: bench.place, remote: bench.remote, clock: bench.clock, media: media)
        try await Poll.until("it is examined") { try await next.record("a.jpg")?.isExamined == true }
        try await Poll.until("the size") { next.sidecar("a.jpg")?["width"] as? Int == 3 }
    }

    @Test("examines again in the next run if the tools were missing")
    func missingTools() async throws {
        let media = ScriptedExaminer(facts: nil)
        let bench = try await Bench(media: media)
        try await bench.drop("a.jpg", picture(1))
        try await bench.ends("a.jpg", .done)
        try await Poll.until("it was asked") { media.questions > 0 }
        await bench.kill()
        let tools = ScriptedExaminer(facts: MediaFacts(width: 3, height: 2))
        let next = try await Bench(place: bench.place, remote: bench.remote, clock: bench.clock, media: tools)
        try await Poll.until("the size") { next.sidecar("a.jpg")?["width"] as? Int == 3 }
    }

    @Test("keeps a file in the outbox until its thumbnail is made")
    func delete() async throws {
        let media = ScriptedExaminer(facts: MediaFacts(width: 3, height: 2))
        media.hold()
        let bench = try await Bench(afterUpload: .delete, media: media)
        try await bench.drop("a.jpg", picture(1))
        try await bench.ends("a.jpg", .done)
        #expect(FileManager.default.fileExists(atPath: "\(bench.outbox)/a.jpg"))
        media.release()
        try await Poll.until("the file is gone") { !FileManager.default.fileExists(atPath: "\(bench.outbox)/a.jpg") }
        #expect(media.thumbnailsMade == 1)
    }

    @Test("asks the server again before a later run removes a file that waited for its thumbnail")
    func deleteLater() async throws {
        let media = ScriptedExaminer(facts: MediaFacts(width: 3, height: 2))
        media.hold()
        let bench = try await Bench(afterUpload: .delete, media: media)
        try await bench.drop("a.jpg", picture(1))
        try await bench.ends("a.jpg", .done)
        await bench.kill()
        media.release()
        let next = try await Bench(
            place: bench.place, remote: bench.remote, clock: bench.clock, afterUpload: .delete, media: media)
        try await Poll.until("it is examined") { try await next.record("a.jpg")?.isExamined == true }
        #expect(FileManager.default.fileExists(atPath: "\(next.outbox)/a.jpg"))
        try await next.ready("a.jpg")
        try await Poll.until("the file is gone") { !FileManager.default.fileExists(atPath: "\(next.outbox)/a.jpg") }
    }

    @Test("moves no file to the holding area once the agent is ending")
    func ending() async throws {
        let media = ScriptedExaminer(facts: MediaFacts(width: 3, height: 2))
        media.hold()
        let bench = try await Bench(afterUpload: .delete, media: media)
        try await bench.drop("a.jpg", picture(1))
        try await bench.ends("a.jpg", .done)
        await bench.uploader.stop()
        media.release()
        try await Poll.until("the examiner is through") { media.thumbnailsMade == 1 }
        _ = try await bench.record("a.jpg")
        #expect(FileManager.default.fileExists(atPath: "\(bench.outbox)/a.jpg"))
    }

    @Test("discards the result of examining a file that changed meanwhile")
    func changed() async throws {
        let media = ScriptedExaminer(facts: MediaFacts(width: 3, height: 2))
        media.hold()
        let bench = try await Bench(media: media)
        try await bench.drop("a.jpg", picture(1))
        try await bench.ends("a.jpg", .done)
        try bench.write("a.jpg", picture(2) + [1])
        media.release()
        try await Poll.until("the thumbnail is taken back") { media.thumbnailsMade == 1 && media.thumbnails.isEmpty }
        #expect(try await bench.record("a.jpg")?.facts == nil)
    }

    @Test("removes thumbnails of unknown contents")
    func orphans() async throws {
        let media = ScriptedExaminer(facts: MediaFacts(width: 3, height: 2))
        let bench = try await Bench(media: media)
        try await bench.drop("a.jpg", picture(1))
        try await Poll.until("it is examined") { try await bench.record("a.jpg")?.isExamined == true }
        let key = try #require(try await bench.record("a.jpg")?.key)
        media.add(ContentKey(high: 7, low: 7))
        var summary = ScanSummary()
        summary.insert(try bench.path("a.jpg"))
        await bench.uploader.take([.scanned(summary)])
        try await Poll.until("only what is needed is left") { media.thumbnails == [key] }
    }

    @Test("removes a thumbnail with the last file of its content")
    func removal() async throws {
        let media = ScriptedExaminer(facts: MediaFacts(width: 3, height: 2))
        let bench = try await Bench(media: media)
        for name in ["a.jpg", "b.jpg"] {
            try await bench.drop(name, picture(1))
            try await bench.ends(name, .done)
        }
        try await Poll.until("a thumbnail") { media.thumbnails.count == 1 }
        try await Poll.until("a record of it") { try await bench.record("a.jpg")?.isExamined == true }
        try await bench.remove("a.jpg")
        await bench.passGrace()
        try await Poll.until("the first is forgotten") { try await bench.record("a.jpg") == nil }
        #expect(media.thumbnails.count == 1)
        try await bench.remove("b.jpg")
        await bench.passGrace()
        try await Poll.until("no thumbnail") { media.thumbnails.isEmpty }
    }

    @Test("registers an upload with the facts known at that time")
    func preLoad() async throws {
        let facts = MediaFacts(width: 3, height: 2, duration: 0.5)
        let bench = try await Bench(media: ScriptedExaminer(facts: facts))
        _ = await bench.uploader.performOnAll(.pause, below: nil)
        try await bench.drop("a.jpg", picture(1))
        let id = FileReport.id(of: try bench.path("a.jpg"))
        try await Poll.until("the size") { await bench.backend.file(id: id)?.facts == facts }
        #expect(bench.remote.descriptions.isEmpty)
        _ = await bench.uploader.performOnAll(.resume, below: nil)
        try await bench.ends("a.jpg", .done)
        #expect(bench.remote.descriptions.map(\.facts) == [facts])
    }
}

/// Bytes with the signature of a JPEG.
private func picture(_ seed: UInt8) -> [UInt8] { [0xFF, 0xD8, 0xFF, 0xE0] + content(seed) }
