import EndToEndSupport
import Foundation
import TestSupport

// What an agent says of itself, as the tests on trouble look at it.
extension Agent {
    /// The lines of its log, over all its starts, that hold all these words.
    func said(_ words: String...) -> [Substring] {
        let log = FileManager.default.contents(atPath: directory.path("agent.err")) ?? Data()
        return String(decoding: log, as: UTF8.self).split(separator: "\n").filter { line in
            words.allSatisfy { line.contains($0) }
        }
    }

    /// Waits for such a line.
    func hasSaid(_ words: String..., atLeast count: Int = 1) async throws {
        try await Poll.until("the log to say \(words)", lastState: { log }) {
            let log = FileManager.default.contents(atPath: directory.path("agent.err")) ?? Data()
            return String(decoding: log, as: UTF8.self).split(separator: "\n").count { line in
                words.allSatisfy { line.contains($0) }
            } >= count
        }
    }

    /// What `outbox status --json` says of a path; nil where the agent does not know it.
    func entry(_ path: String) async throws -> [String: Any]? {
        try (await status()["files"] as? [[String: Any]])?.first { $0["path"] as? String == path }
    }

    /// What `outbox status --json` names as needing attention.
    func problems() async throws -> [String] { try await status()["problems"] as? [String] ?? [] }

    private func status() async throws -> [String: Any] {
        let text = try await command("status", "--json").standardOutput
        guard let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] else {
            throw Surprise("status --json: \(text)")
        }
        return object
    }

    /// Whether a path has no outcome for as long as a removal would need to count (contract 3: 2 s), and some: what
    /// `outbox wait --timeout` tells. Asked from outside of the outbox, which may be gone.
    func isStillUnderWay(_ name: String) async throws -> Bool {
        let output = try await Program.run(
            "outbox", ["wait", "--timeout", "5s", "--json", "--config", config], environment: environment,
            directory: directory.path)
        let lists = try? JSONDecoder().decode([String: [String]].self, from: Data(output.standardOutput.utf8))
        guard output.code == 75, lists?["pending"]?.contains(name) == true else {
            throw Surprise("wait for \(name): \(output)\n\(log)")
        }
        return true
    }
}
