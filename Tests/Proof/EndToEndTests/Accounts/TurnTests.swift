import EndToEndSupport
import Foundation
import TestSupport
import Testing

/// Contracts 3 and 4: uploads belong to one account and are never sent with another account's token.
@Suite("Two users who take turns", .agents)
struct TurnTests {
    private static let users = ["anna", "ben"]
    private static let shared: UInt64 = 7
    /// The limits on fragments in flight, which may be sent again after each change of user.
    private static let settings: Settings = ["upload.files_in_flight": 4, "upload.fragments_in_flight": 2]
    private static let inFlight = 8

    /// A user's uploads.
    private struct Part {
        let user: String
        var keys: [String: String] = [:]
        var post: String { "\(user)-post" }
    }

    private func drop(_ turn: Int, of part: inout Part, into agent: Agent) throws {
        let name = "\(part.user)-\(turn)"
        if turn < Self.users.count {
            part.keys["\(part.post)/\(name)-post.jpg"] = try agent.drop(
                "\(part.post)/\(name)-post.jpg", .jpeg, size: 24 * 524_288)
            part.keys["\(part.post)/\(name)-cover.jpg"] = try agent.drop(
                "\(part.post)/\(name)-cover.jpg", .jpeg, size: 5000)
            try agent.drop("\(part.post)/source.toml", Array("title = \"\(part.user)\"\n".utf8))
            part.keys["\(name)-shared.jpg"] = try agent.drop(
                "\(name)-shared.jpg", .jpeg, size: 8 * 524_288, seed: Self.shared)
        }
        for (kind, size) in [("small", 3000), ("middle", 1_200_000), ("large", 20 * 524_288)] {
            part.keys["\(name)-\(kind).jpg"] = try agent.drop("\(name)-\(kind).jpg", .jpeg, size: size)
        }
    }

    /// Checks the sidecars of a signed-out user, and returns the progress of each upload.
    private func checkParked(_ part: Part, _ home: Household) async throws -> [String: Int] {
        var progress: [String: Int] = [:]
        for (name, key) in part.keys {
            let sidecar = try await home.agent.reached(name, .signedOut, .done) {
                $0.state == .done || $0.error?.code == "other_account"
            }
            let arrived = home.arrived(key, from: part.user).count
            if sidecar.state == .done {
                #expect(home.server.store.finishedByUser[part.user]?.contains(key) == true, "\(name)")
            } else {
                let finished = sidecar.fragments?.finished ?? 0
                #expect((max(arrived - 2, 0)...arrived).contains(finished), "\(name): \(finished) of \(arrived)")
                #expect(sidecar.progress < 1)
                progress[name] = finished
            }
        }
        return progress
    }

    @Test("never send files with the other's token, and lose none")
    func turns() async throws {
        // No large file finishes before the next turn.
        let home = try Household(uploadDelay: .seconds(1), Self.settings)
        let agent = home.agent
        try await agent.start()
        var parts = Self.users.map { Part(user: $0) }
        var before: [String: Int] = [:]

        for turn in 0..<6 {
            let (mine, other) = (turn % 2, 1 - turn % 2)
            try await agent.login(parts[mine].user)
            let parked = try await checkParked(parts[other], home)
            let mark = home.server.records.count
            if turn >= 1 { #expect(!parked.isEmpty, "uploads were under way") }
            try drop(turn, of: &parts[mine], into: agent)
            try await underWay(parts[mine], turn, home)
            // The other user's uploads made no progress, and no request mentions them.
            #expect(try await checkParked(parts[other], home) == parked)
            #expect(Set(home.server.records[mark...].map(\.user)) == [parts[mine].user])
            for (name, finished) in before {
                #expect(
                    try agent.sidecar(name).map { $0.state == .done || ($0.fragments?.finished ?? 0) >= finished }
                        == true)
            }
            before = parked
        }

        home.server.setUploadDelay(.milliseconds(20))
        for part in parts {
            try await agent.login(part.user)
            for name in part.keys.keys { try await agent.reached(name, .done, timeout: .seconds(120)) }
            try await agent.post(part.post, is: "done")
        }
        home.expectDisjoint()
        home.expectNothingByNobody()
        home.expectFinished(Dictionary(uniqueKeysWithValues: parts.map { ($0.user, Array($0.keys.values)) }))
        #expect(home.server.store.repeated <= 7 * Self.inFlight)
        #expect(home.server.store.posts.posts.keys.map(\.user).sorted() == Self.users)
        #expect(home.server.deletions == [])
        #expect(try await agent.stop() == .exited(0))
    }

    /// Waits until a few fragments of this turn have arrived.
    private func underWay(_ part: Part, _ turn: Int, _ home: Household) async throws {
        if turn < Self.users.count {
            let key = try #require(part.keys["\(part.post)/\(part.user)-\(turn)-post.jpg"])
            return try await home.hasSent(3, of: key, from: part.user)
        }
        let arrived = { part.keys.values.reduce(0) { $0 + home.arrived($1, from: part.user).count } }
        let start = arrived()
        try await Poll.until("fragments of turn \(turn)", lastState: { home.agent.log }) { arrived() >= start + 6 }
    }
}
