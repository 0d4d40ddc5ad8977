import AgentConfiguration
import AgentTestSupport
import Digests
import Foundation
import LinuxSystem
import Products
@testable import Remotes
import TestSupport
import Testing

@testable import Agent
@testable import Reports
@testable import UploadCore

@Suite("Uploader: files that are processed first")
struct ProductTests {
    private let compress = Recipes(pictures: .jpeg(quality: 85, maximumSide: 0))
    private let strip = Recipes(removal: .positions)

    /// A picture whose product, half of it, has several blocks.
    private func picture(_ seed: UInt64, _ size: Int = 2_400_000) -> [UInt8] {
        SampleMedia.jpeg.bytes(size: size, seed: seed)
    }

    private func key(_ bytes: [UInt8]) -> ContentKey? {
        var hasher = MD5Hasher()
        bytes.withUnsafeBytes { hasher.update($0) }
        return ContentKey(hexadecimal: hasher.finish().map { String(format: "%02x", $0) }.joined())
    }

    private func products(_ bench: Bench) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: bench.place.path("products"))) ?? [])
            .filter { !$0.hasPrefix(".") }
    }

    private func product(_ bench: Bench, _ name: String) -> [String: Any]? {
        bench.sidecar(name)?["product"] as? [String: Any]
    }

    /// Kills an agent while it sends the product of `a.jpg`. Its next run goes on from the same place.
    private func killedWhileSending(_ remote: ScriptedRemote, _ step: ScriptedStep) async throws -> Bench {
        remote.hold(.send)
        let bench = try await Bench(remote: remote, recipes: compress, step: step)
        try await bench.drop("a.jpg", picture(1))
        try await bench.until("a.jpg", is: .uploading)
        await bench.kill()
        remote.release()
        return bench
    }

    @Test("a product is uploaded in place of the file, once for all its copies, and then removed")
    func shared() async throws {
        let (remote, step) = (ScriptedRemote(), ScriptedStep())
        let bench = try await Bench(remote: remote, recipes: compress, step: step)
        step.hold()
        let bytes = picture(1)
        try await bench.drop("trip/a.heic", bytes)
        try await bench.until("trip/a.heic", is: .processing)
        try await bench.drop("b.jpg", bytes)
        try await bench.until("b.jpg", is: .processing)
        #expect(await bench.backend.file(id: FileReport.id(of: try bench.path("b.jpg")))?.progress == 0.5)
        step.release()
        try await bench.ends("trip/a.heic", .done)
        try await bench.ends("b.jpg", .done)
        #expect(remote.registered.count == 1 && step.inputs.count == 1)
        #expect(remote.content(of: "1") == Array(bytes[..<(bytes.count / 2)]))
        #expect(remote.descriptions.first?.facts == MediaFacts(width: 4, height: 3))
        let sidecar = try #require(bench.sidecar("trip/a.heic"))
        #expect(sidecar["key"] as? String == key(bytes)?.description)
        #expect(sidecar["size"] as? Int == bytes.count)
        #expect(product(bench, "b.jpg")?["key"] as? String == remote.registered.first?.description)
        #expect(product(bench, "b.jpg")?["size"] as? Int == bytes.count / 2)
        #expect(product(bench, "b.jpg")?["recipe"] as? String == "jpeg quality=85")
        try await Poll.until("the product to be removed") { products(bench).isEmpty }
    }

    @Test("what was confirmed for a recipe is not made or sent again")
    func dedupe() async throws {
        let (remote, step) = (ScriptedRemote(), ScriptedStep())
        let bench = try await Bench(remote: remote, recipes: compress, step: step)
        try await bench.drop("a.jpg", picture(1))
        try await bench.ends("a.jpg", .done)
        try await bench.drop("b.jpg", picture(1))
        try await bench.ends("b.jpg", .done)
        #expect(remote.registered.count == 1 && step.inputs.count == 1)
        #expect(bench.sidecar("b.jpg")?["deduplicated"] as? Bool == true)
    }

    @Test("another recipe uploads anew, and the former one does not")
    func otherRecipe() async throws {
        let (remote, step) = (ScriptedRemote(), ScriptedStep())
        let first = try await Bench(remote: remote, recipes: compress, step: step)
        try await first.drop("a.jpg", picture(1))
        try await first.ends("a.jpg", .done)
        await first.uploader.stop()
        await first.kill()
        let second = try await Bench(place: first.place, remote: remote)
        try await second.ready("a.jpg")
        try await second.ends("a.jpg", .done)
        #expect(remote.registered.count == 2 && remote.registered[1] == key(picture(1)))
        #expect(second.sidecar("a.jpg")?["product"] is NSNull)
        await second.uploader.stop()
        await second.kill()
        let third = try await Bench(place: first.place, remote: remote, recipes: compress, step: step)
        try await third.ready("a.jpg")
        try await third.ends("a.jpg", .done)
        #expect(remote.registered.count == 2 && step.inputs.count == 1)
    }

    @Test("a file that waits for its upload is not sent as it is once its positions must go")
    func stripLater() async throws {
        let (remote, step) = (ScriptedRemote(), ScriptedStep())
        remote.hold(.send)
        let first = try await Bench(remote: remote)
        try await first.drop("a.jpg", picture(1))
        try await first.until("a.jpg", is: .uploading)
        await first.uploader.stop()
        await first.kill()
        remote.release()
        let sent = remote.sent.count
        let second = try await Bench(place: first.place, remote: remote, recipes: strip, step: step)
        try await second.ready("a.jpg")
        try await second.ends("a.jpg", .done)
        let original = key(picture(1))
        #expect(!remote.sent.dropFirst(sent).contains { $0.key == original })
        try await Poll.until("the begun upload to be deleted on the server") { remote.removed == ["1"] }
    }

    @Test("a file whose positions can't be removed fails, and is never sent")
    func refused() async throws {
        let (remote, step) = (ScriptedRemote(), ScriptedStep(.fails(.refused("the maker note is damaged"))))
        let bench = try await Bench(remote: remote, recipes: strip, step: step)
        let bytes = picture(1)
        try await bench.drop("a.jpg", bytes)
        try await bench.ends("a.jpg", .failed)
        let sidecar = try #require(bench.sidecar("a.jpg"))
        let error = try #require(sidecar["error"] as? [String: Any])
        #expect(error["code"] as? String == "location_not_removed")
        #expect((error["message"] as? String)?.contains("maker note") == true)
        #expect(sidecar["key"] as? String == key(bytes)?.description)
        #expect(remote.registered.isEmpty)
        // The user installs what was missing, and retries.
        step.answer(.half)
        let id = FileReport.id(of: try bench.path("a.jpg"))
        _ = await bench.backend.perform(.retry, on: .file(id: id))
        try await bench.ends("a.jpg", .done)
    }

    @Test("a conversion that fails sends the file as it is and says so")
    func originalGoes() async throws {
        let (remote, step) = (ScriptedRemote(), ScriptedStep(.fails(.refused("the picture is damaged"))))
        let bench = try await Bench(remote: remote, recipes: compress, step: step)
        try await bench.drop("a.jpg", picture(1))
        try await bench.ends("a.jpg", .done)
        #expect(remote.registered == [key(picture(1))])
        #expect(product(bench, "a.jpg")?["error"] as? String == "the picture is damaged")
        #expect(product(bench, "a.jpg")?["key"] is NSNull)
    }

    @Test("a file that needs no product is sent as it is, and other kinds of files are not touched")
    func unchanged() async throws {
        let (remote, step) = (ScriptedRemote(), ScriptedStep(.unchanged))
        let bench = try await Bench(remote: remote, recipes: compress, step: step)
        try await bench.drop("a.jpg", picture(1))
        try await bench.drop("b.txt", Array("text".utf8))
        for name in ["a.jpg", "b.txt"] {
            try await bench.ends(name, .done)
            #expect(bench.sidecar(name)?["product"] is NSNull)
        }
        #expect(step.inputs.count == 1 && remote.registered.count == 2)
    }

    @Test("after a kill a stored product is used, not made again; one that nothing needs goes")
    func kill() async throws {
        let (remote, step) = (ScriptedRemote(), ScriptedStep())
        let first = try await killedWhileSending(remote, step)
        let stray = first.place.path("products/00000000000000000000000000000001")
        try Data("stray".utf8).write(to: URL(filePath: stray))
        try FileManager.default.createDirectory(
            atPath: first.place.path("products/.scratch-1"), withIntermediateDirectories: false)
        let second = try await Bench(place: first.place, remote: remote, recipes: compress, step: step)
        try await second.ends("a.jpg", .done)
        #expect(step.inputs.count == 1)
        try await Poll.until("the folder to be empty") {
            try FileManager.default.contentsOfDirectory(atPath: first.place.path("products")).isEmpty
        }
    }

    @Test("a lost or damaged product is made again")
    func lost() async throws {
        for damage in [nil, [UInt8](repeating: 7, count: 1_200_000)] {
            let (remote, step) = (ScriptedRemote(), ScriptedStep())
            let first = try await killedWhileSending(remote, step)
            let path = first.place.path("products/\(try #require(products(first).first))")
            try FileManager.default.removeItem(atPath: path)
            if let damage { try Data(damage).write(to: URL(filePath: path)) }
            let second = try await Bench(place: first.place, remote: remote, recipes: compress, step: step)
            try await second.ends("a.jpg", .done)
            #expect(step.inputs.count == 2)
            let half = Array(picture(1)[..<1_200_000])
            #expect(remote.descriptions.contains { $0.key == key(half) })
        }
    }

    @Test("a file removed or changed while it is processed stops the work")
    func changed() async throws {
        let (remote, step) = (ScriptedRemote(), ScriptedStep())
        let bench = try await Bench(remote: remote, recipes: compress, step: step)
        step.hold()
        try await bench.drop("a.jpg", picture(1))
        // A file is `processing` before its step begins.
        try await Poll.until("the old content to be processed") { step.isHolding }
        try await bench.drop("a.jpg", picture(2))
        try await Poll.until("the new content to be processed") { step.inputs.count == 2 }
        step.release()
        try await bench.ends("a.jpg", .done)
        #expect(remote.registered == [key(Array(picture(2)[..<1_200_000]))])
    }

    @Test("a file changed before its step began is processed once, with the new content")
    func changedBefore() async throws {
        let (remote, step) = (ScriptedRemote(), ScriptedStep())
        let change = DispatchSemaphore(value: 0)
        let bench = try await Bench(remote: remote, recipes: compress, step: step, beforeOpening: { change.wait() })
        try await bench.drop("a.jpg", picture(1))
        try await bench.until("a.jpg", is: .processing)
        try await bench.drop("a.jpg", picture(2))
        for _ in 0..<10 { change.signal() }
        try await bench.ends("a.jpg", .done)
        #expect(step.inputs.count == 1)
        #expect(remote.registered == [key(Array(picture(2)[..<1_200_000]))])
    }

    @Test("a moved file is checked against the original, not against its product")
    func moved() async throws {
        let (remote, step) = (ScriptedRemote(), ScriptedStep())
        let bench = try await Bench(remote: remote, afterUpload: .move, recipes: compress, step: step)
        let bytes = picture(1)
        try await bench.drop("a.jpg", bytes)
        try await bench.ends("Sent/a.jpg", .done)
        let moved = try Data(contentsOf: URL(filePath: "\(bench.outbox)/Sent/a.jpg"))
        #expect(Array(moved) == bytes)
    }

    @Test("the status says how much was saved, and a full folder waits")
    func limits() async throws {
        let (remote, step) = (ScriptedRemote(), ScriptedStep())
        remote.hold(.send)
        let bench = try await Bench(remote: remote, recipes: compress, step: step, storedProducts: 100_000)
        try await bench.drop("a.jpg", picture(1))
        try await bench.until("a.jpg", is: .uploading)
        try await bench.drop("b.jpg", picture(2))
        try await bench.until("b.jpg", is: .processing)
        #expect(step.inputs.count == 1)
        remote.release()
        try await bench.ends("b.jpg", .done)
        #expect(await bench.backend.health().saved == 2_400_000)
    }

    @Test("what a step says of other bytes than those that were hashed is not believed")
    func rewritten() async throws {
        let (remote, step) = (ScriptedRemote(), ScriptedStep(.unchanged))
        let bench = try await Bench(remote: remote, recipes: strip, step: step)
        step.hold()
        let bytes = picture(1)
        try await bench.drop("a.jpg", bytes)
        try await bench.until("a.jpg", is: .processing)
        // A copy waits for the same product, while the first file gets other bytes.
        try await bench.drop("b.jpg", bytes)
        try await bench.until("b.jpg", is: .processing)
        try await bench.drop("a.jpg", picture(2))
        step.answer(.half)
        step.release()
        try await bench.ends("b.jpg", .done)
        #expect(!remote.registered.contains { $0 == key(bytes) })
    }

    @Test("without recipes a file that waits with a product goes as it is")
    func withoutRecipes() async throws {
        let (remote, step) = (ScriptedRemote(), ScriptedStep())
        let first = try await killedWhileSending(remote, step)
        let second = try await Bench(place: first.place, remote: remote)
        try await second.ready("a.jpg")
        try await second.ends("a.jpg", .done)
        #expect(remote.registered.last == key(picture(1)))
    }

    @Test("a file renamed while it is processed keeps the work, a cancelled one does not")
    func renamed() async throws {
        let (remote, step) = (ScriptedRemote(), ScriptedStep())
        let bench = try await Bench(remote: remote, recipes: compress, step: step)
        step.hold()
        try await bench.drop("a.jpg", picture(1))
        try await bench.until("a.jpg", is: .processing)
        try await bench.rename("a.jpg", to: "b.jpg")
        try await bench.ready("b.jpg")
        try await bench.until("b.jpg", is: .processing)
        step.release()
        try await bench.ends("b.jpg", .done)
        #expect(step.inputs.count == 1 && remote.registered.count == 1)

        step.hold()
        try await bench.drop("c.jpg", picture(3))
        try await bench.until("c.jpg", is: .processing)
        _ = await bench.backend.perform(.cancel, on: .file(id: FileReport.id(of: try bench.path("c.jpg"))))
        try await bench.ends("c.jpg", .cancelled)
        // The step ends because its task was cancelled, although the test holds it.
        try await Poll.until("the work to stop") { !step.isHolding }
        #expect(remote.registered.count == 1)
    }
}
