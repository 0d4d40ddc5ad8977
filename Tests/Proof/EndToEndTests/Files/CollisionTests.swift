import EndToEndSupport
import Foundation
import TestSupport
import Testing

@Suite("Two contents with one MD5", .agents)
struct CollisionTests {
    /// Starts a machine's agent; all machines share one receiver.
    private func machine(_ receiver: Receiver, afterUpload: String) async throws -> Agent {
        let agent = try Agent(
            remote: receiver.url, ["intake.media_only": false, "intake.after_upload": .string(afterUpload)])
        try await agent.start()
        return agent
    }

    @Test("after_upload = delete deletes a file only once its own bytes are stored")
    func deletion() async throws {
        let receiver = try await Receiver.started()
        let keeper = try await machine(receiver, afterUpload: "keep")
        try keeper.drop("a.bin", CollidingPair.first)
        try await keeper.reached("a.bin", .done)

        let deleter = try await machine(receiver, afterUpload: "delete")
        try deleter.drop("b.bin", CollidingPair.second)
        let sidecar = try await deleter.reached("b.bin", .done)
        try await Poll.until("the file to go", lastState: { deleter.log }) { !deleter.exists("b.bin") }

        #expect(!sidecar.deduplicated)
        #expect(sidecar.key == CollidingPair.md5)
        let tree = try receiver.files()
        #expect(tree.count == 2)
        let stored = try tree.keys.map { try Data(contentsOf: URL(fileURLWithPath: "\(receiver.root)/files/\($0)")) }
        #expect(Set(stored) == [Data(CollidingPair.first), Data(CollidingPair.second)])
    }

    @Test("a file whose bytes are stored already is deleted without sending them")
    func known() async throws {
        let receiver = try await Receiver.started()
        let keeper = try await machine(receiver, afterUpload: "keep")
        try keeper.drop("a.bin", CollidingPair.first)
        try await keeper.reached("a.bin", .done)

        let deleter = try await machine(receiver, afterUpload: "delete")
        try deleter.drop("b.bin", CollidingPair.first)
        let sidecar = try await deleter.reached("b.bin", .done)
        try await Poll.until("the file to go", lastState: { deleter.log }) { !deleter.exists("b.bin") }

        #expect(sidecar.deduplicated)
        #expect(try receiver.objects() == [CollidingPair.md5])
    }
}
