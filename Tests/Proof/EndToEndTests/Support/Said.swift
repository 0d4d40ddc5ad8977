import EndToEndSupport
import Foundation
import TestSupport
import Testing

// The agent's log and status, for tests of troubles.
extension Agent {
    /// Returns the log lines, over all starts, that contain all these words.
    func said(_ words: String...) -> [Substring] {
        let log = FileManager.default.contents(atPath: directory.path("agent.err")) ?? Data()
        return String(decoding: log, as: UTF8.self).split(separator: "\n").filter { line in
            words.allSatisfy { line.contains($0) }
        }
    }

    /// Waits for such log lines.
    func hasSaid(_ words: String..., atLeast count: Int = 1) async throws {
        try await Poll.until("the log to say \(words)", lastState: { log }) {
            let log = FileManager.default.contents(atPath: directory.path("agent.err")) ?? Data()
            return String(decoding: log, as: UTF8.self).split(separator: "\n").count { line in
                words.allSatisfy { line.contains($0) }
            } >= count
        }
    }

    /// Returns the value of a metric with exactly these labels, as written.
    func metric(_ name: String) -> Double? {
        guard let reply = ControlSocket.get("/metrics", socket: socket), reply.status == 200 else { return nil }
        let lines = String(decoding: reply.body, as: UTF8.self).split(whereSeparator: \.isNewline)
        return lines.first { $0.hasPrefix(name + " ") }?.split(separator: " ").last.flatMap { Double($0) }
    }

    /// Waits until a full scan that began after this call has ended, in an agent that scans every few seconds.
    func hasScannedAnew() async throws {
        // The next scan to end may have begun before.
        let scans = try #require(metric("outbox_scans_total"))
        try await Poll.until("two full scans", lastState: { log }) {
            (metric("outbox_scans_total") ?? 0) >= scans + 2
        }
    }

    /// Returns the entry of a path in `outbox status --json`, or nil if the agent does not know the path.
    func entry(_ path: String) async throws -> [String: Any]? {
        try (await status()["files"] as? [[String: Any]])?.first { $0["path"] as? String == path }
    }

    /// Returns the problems in `outbox status --json`.
    func problems() async throws -> [String] { try await status()["problems"] as? [String] ?? [] }

    private func status() async throws -> [String: Any] {
        let text = try await command("status", "--json").standardOutput
        guard let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] else {
            throw Surprise("status --json: \(text)")
        }
        return object
    }

    /// Whether a path stays without an outcome for longer than a removal needs to count (contract 3: 2 s), by `outbox
    /// wait --timeout`. The command runs outside the outbox, which may be gone.
    func isStillUnderWay(_ name: String) async throws -> Bool {
        let output = try await Program.run(
            "outbox", ["wait", "--timeout", "5s", "--json", "--config", config], environment: environment,
            directory: directory.path)
        let report = try? JSONSerialization.jsonObject(with: Data(output.standardOutput.utf8)) as? [String: Any]
        guard output.code == 75, (report?["pending"] as? [String])?.contains(name) == true else {
            throw Surprise("wait for \(name): \(output)\n\(log)")
        }
        return true
    }
}
