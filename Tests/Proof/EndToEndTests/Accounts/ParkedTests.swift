import EndToEndSupport
import Foundation
import TestSupport
import Testing

/// Actions on uploads whose owner is not signed in.
@Suite("Uploads of a user who is not signed in", .agents)
struct ParkedTests {
    /// Returns a household where Anna has uploads under way, with a few fragments of each, and Ben has just signed
    /// in. The server holds the uploads.
    private func parked(_ names: [String]) async throws -> (home: Household, keys: [String: String]) {
        let home = try Household(["upload.fragments_in_flight": 1])
        home.server.hold(after: 3)
        try await home.agent.start()
        try await home.agent.login("anna")
        var keys: [String: String] = [:]
        for name in names { keys[name] = try home.agent.drop(name, .jpeg, size: 16 * 524_288) }
        for key in keys.values { try await home.hasSent(2, of: key, from: "anna") }
        try await home.agent.login("ben")
        for name in names { try await home.agent.parked(name, as: "anna") }
        return (home, keys)
    }

    /// Returns the names of the files deleted with Anna's token.
    private func deleted(_ home: Household) -> Set<String> {
        Set(home.server.records.filter { $0.endpoint == .delete && $0.user == "anna" }.flatMap(\.files).map(\.name))
    }

    @Test("can be cancelled, paused, removed and renamed one by one, with effect once the owner returns")
    func oneByOne() async throws {
        let names = ["cancel", "pause", "remove", "rename", "stay"].map { "anna-\($0).jpg" }
        let (home, keys) = try await parked(names)
        let agent = home.agent
        #expect(try await agent.command("cancel", names[0]).code == 0)
        try await agent.reached(names[0], .cancelled)
        #expect(try await agent.command("pause", names[1]).code == 0)
        try await agent.reached(names[1], .paused)
        agent.remove(names[2])
        try await agent.reached(names[2], .cancelled)
        try Files.rename(agent.path(names[3]), to: agent.path("anna-renamed.jpg"))
        #expect((try await agent.parked("anna-renamed.jpg", as: "anna").fragments?.finished ?? 0) > 0)
        try await Poll.until("its sidecar to move along") { try agent.sidecar(names[3]) == nil }

        // The same holds after a restart, with Ben signed in.
        #expect(try await agent.stop() == .exited(0))
        try await agent.start()
        try await agent.parked("anna-renamed.jpg", as: "anna")
        try await agent.reached(names[1], .paused)
        home.server.letGo()
        try await agent.login("anna")
        for name in ["anna-renamed.jpg", "anna-stay.jpg"] { try await agent.reached(name, .done) }
        try await Poll.until("what was given up to be deleted", lastState: { agent.log }) {
            deleted(home) == [names[0], names[2]]
        }
        try await agent.reached(names[1], .paused)
        #expect(try await agent.command("resume", names[1]).code == 0)
        try await agent.reached(names[1], .done)
        #expect(try agent.sidecar(names[0])?.state == .cancelled)
        home.expectDisjoint(["anna"])
        home.expectFinished(["anna": [1, 3, 4].compactMap { keys[names[$0]] }, "ben": []])
        #expect(home.server.store.repeated <= names.count)
    }

    @Test("end if another user overwrites the file, which then belongs to that user")
    func overwritten() async throws {
        let (home, _) = try await parked(["picture.jpg"])
        let key = try home.agent.drop("picture.jpg", .jpeg, size: 5000)
        try await home.agent.reached("picture.jpg", .done) { $0.key == key }
        #expect(home.server.deletions == [])
        try await home.agent.login("anna")
        try await Poll.until("the old content to be deleted", lastState: { home.agent.log }) {
            deleted(home) == ["picture.jpg"]
        }
        #expect(try home.agent.sidecar("picture.jpg")?.state == .done)
        home.expectFinished(["anna": [], "ben": [key]])
    }

    @Test("are cancelled by cancel --all, and deleted on the server once the owner returns")
    func cancelAll() async throws {
        let (home, keys) = try await parked(["anna-1.jpg", "anna-2.jpg"])
        let agent = home.agent
        let later = try agent.drop("ben.jpg", .jpeg, size: 16 * 524_288)
        try await home.hasSent(1, of: later, from: "ben")
        #expect(try await agent.command("cancel", "--all").code == 0)
        for name in ["anna-1.jpg", "anna-2.jpg", "ben.jpg"] { try await agent.reached(name, .cancelled) }
        try await Poll.until("Ben's to be deleted", lastState: { agent.log }) { home.server.deletions == [["ben.jpg"]] }

        // The agent remembers pending deletions across a kill.
        try await agent.kill()
        try await agent.start()
        try await agent.login("anna")
        try await Poll.until("Anna's to be deleted", lastState: { agent.log }) {
            deleted(home) == ["anna-1.jpg", "anna-2.jpg"]
        }
        try await agent.login("ben")
        for name in ["anna-1.jpg", "anna-2.jpg", "ben.jpg"] { #expect(try agent.sidecar(name)?.state == .cancelled) }
        #expect(keys.values.allSatisfy { !home.arrived($0, from: "anna").isEmpty })
        home.expectDisjoint()
        home.expectFinished(["anna": [], "ben": []])
    }

    @Test("are shown by status, keep wait waiting, and start neither by retry nor by first")
    func told() async throws {
        let (home, keys) = try await parked(["anna.jpg"])
        let entry = try #require(try await home.agent.entry("anna.jpg"))
        #expect(entry["state"] as? String == "signed_out")
        #expect(entry["key"] as? String == keys["anna.jpg"])
        #expect((entry["error"] as? [String: Any])?["code"] as? String == "other_account")
        #expect((entry["progress"] as? Double).map { $0 > 0 && $0 < 1 } == true)
        let message = (entry["error"] as? [String: Any])?["message"] as? String
        #expect(message?.contains("outbox login --user anna") == true)
        let status = try await home.agent.command("status", "anna.jpg")
        #expect(status.code == 0 && status.standardOutput.contains("other_account"), "\(status)")

        let wait = try await home.agent.command("wait", "--timeout", "1s", "anna.jpg")
        #expect(wait.code == 75, "\(wait)")
        for action in ["retry", "first"] {
            let output = try await home.agent.command(action, "anna.jpg")
            let said = output.standardOutput + output.standardError
            #expect(said.contains("continues once anna signs in"), "\(action): \(output)")
        }
        #expect(home.named(by: "ben").isEmpty)
        try home.agent.drop("ben.jpg", .jpeg, size: 2000)
        #expect(try await home.agent.command("wait", "ben.jpg").code == 0)
    }

    @Test("can be paused, resumed and cancelled as a post, too")
    func sources() async throws {
        let home = try Household(["upload.fragments_in_flight": 1])
        home.server.hold(after: 3)
        let agent = home.agent
        try await agent.start()
        try await agent.login("anna")
        var keys: [String] = []
        for name in ["one", "two"] {
            keys.append(try agent.drop("\(name)/anna-\(name).jpg", .jpeg, size: 16 * 524_288))
            try agent.drop("\(name)/source.toml", Array("title = \"\(name)\"\n".utf8))
        }
        for key in keys { try await home.hasSent(2, of: key, from: "anna") }
        try await agent.login("ben")
        for name in ["one", "two"] {
            try await agent.post(name, is: "signed_out", code: "other_account")
            try await agent.parked("\(name)/anna-\(name).jpg", as: "anna")
        }
        #expect(try await agent.command("cancel", "one").code == 0)
        try await agent.post("one", is: "cancelled", code: "cancelled")
        #expect(try await agent.command("pause", "two").code == 0)
        home.server.letGo()
        try await agent.login("anna")
        try await agent.post("two", is: "paused")
        try await Poll.until("the cancelled one's file to be deleted", lastState: { agent.log }) {
            deleted(home) == ["anna-one.jpg"]
        }
        #expect(try await agent.command("resume", "two").code == 0)
        try await agent.post("two", is: "done")
        home.expectDisjoint(["anna"])
        home.expectFinished(["anna": [keys[1]], "ben": []])
        #expect(home.server.store.posts.posts.map(\.value.payload.title) == ["two"])
    }
}
