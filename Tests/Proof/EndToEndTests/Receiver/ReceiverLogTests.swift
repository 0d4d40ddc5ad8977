import EndToEndSupport
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Two users at the real receiver", .agents)
struct ReceiverLogTests {
    /// Returns the log lines about a user's requests.
    private func lines(of user: String, _ receiver: Receiver) -> [Substring] {
        receiver.log.filter { $0.split(separator: " ").contains { $0 == "user=\(user)" } }
    }

    /// Returns the ids issued to a user, from the lines of preLoad: `files=[ID new md5=… bytes=… name="…", …]`.
    private func identifiers(of user: String, _ receiver: Receiver) -> Set<Substring> {
        var found: Set<Substring> = []
        for line in lines(of: user, receiver) where line.contains("preLoad") {
            let words = line.split { " [],".contains($0) }
            for (index, word) in words.enumerated() where word.hasPrefix("md5=") && index >= 2 {
                // "files=" precedes the first id.
                found.insert(words[index - 2].split(separator: "=").last ?? "")
            }
        }
        return found
    }

    @Test("lines for the journal have their severity in front")
    func priorities() async throws {
        let receiver = try Receiver()
        let tokens = receiver.directory.path("tokens")
        try Files.write(Array("sesame anna\n".utf8), to: tokens)
        chmod(tokens, 0o644)
        receiver.options = ["--token-file", tokens]
        try await receiver.start()
        #expect(receiver.log.contains { $0.contains(" warning ") } && !receiver.log.contains { $0.hasPrefix("<") })
        try await receiver.kill()

        // The variable names the stream of stderr, as systemd does; the file stays the same.
        var file = stat()
        #expect(stat(receiver.directory.path("receiver.err"), &file) == 0)
        receiver.environment["JOURNAL_STREAM"] = "\(file.st_dev):\(file.st_ino)"
        let before = receiver.log.count
        try await receiver.start()
        let lines = receiver.log.dropFirst(before)
        #expect(lines.contains { $0.hasPrefix("<4>warning outbox-receiver: ") }, "\(lines)")
        #expect(lines.allSatisfy { $0.hasPrefix("<") }, "\(lines)")
    }

    @Test("who take turns never appear under the other's name in log and trees")
    func turns() async throws {
        let receiver = try Receiver()
        receiver.environment["OUTBOX_RECEIVER_TOKENS"] = "for-anna anna\nfor-ben ben"
        receiver.options = ["--log-level", "debug", "--no-sync"]
        try await receiver.start()
        let agent = try Agent(
            remote: receiver.url, ["upload.bandwidth_limit": "6MiB", "upload.fragments_in_flight": 2])
        try await agent.start()
        var expected: [String: String] = [:]
        for turn in 0..<5 {
            let user = turn % 2 == 0 ? "anna" : "ben"
            try await agent.login(user)
            if turn < 2 {
                let picture = "post-of-\(user)/\(user)-cover.jpg"
                expected["\(user)/\(picture)"] = try agent.drop(picture, .jpeg, size: 5000)
                try agent.drop("post-of-\(user)/source.toml", Array("title = \"by \(user)\"\n".utf8))
                expected["\(user)/\(user)-same.mp4"] = try agent.drop("\(user)-same.mp4", .mp4, size: 600_000, seed: 3)
            }
            for (kind, size) in [("small", 3000), ("large", 8 * 524_288)] {
                let name = "\(user)-\(turn)-\(kind).mp4"
                expected["\(user)/\(name)"] = try agent.drop(name, .mp4, size: size)
            }
            try await Poll.until("turn \(turn) to be under way", lastState: { agent.log }) {
                let sidecar = try agent.sidecar("\(user)-\(turn)-large.mp4")
                return sidecar?.state == .done || (sidecar?.fragments?.finished ?? 0) >= 2
            }
        }
        for user in ["anna", "ben"] {
            try await agent.login(user)
            try await agent.post("post-of-\(user)", is: "done")
            for path in expected.keys where path.hasPrefix("\(user)/") {
                try await agent.reached(String(path.dropFirst(user.count + 1)), .done)
            }
        }

        #expect(try receiver.files() == expected)
        for (user, other) in [("anna", "ben"), ("ben", "anna")] {
            let (own, foreign) = (lines(of: user, receiver), identifiers(of: other, receiver))
            #expect(foreign.count >= 6, "the log was understood: \(own.prefix(3))")
            let names = expected.keys.filter { $0.hasPrefix("\(other)/") }.map { $0.split(separator: "/").last ?? "" }
            for line in own {
                #expect(!names.contains { line.contains($0) }, "\(line)")
                #expect(!foreign.contains { line.contains($0) }, "\(line)")
            }
            #expect(own.contains { $0.contains("commit") && $0.contains("by \(user)") })
        }
        // `login` also checked the token each time.
        let refusals = receiver.log.filter { $0.contains("refused") }
        #expect(refusals.isEmpty, "\(refusals)")
    }
}
