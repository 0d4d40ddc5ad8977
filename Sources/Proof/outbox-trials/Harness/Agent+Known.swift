import EndToEndSupport
import Foundation
import TestSupport

/// What the agent knows of its outbox, as `outbox status --json` says.
struct KnownFiles: Decodable {
    /// The number of files by state.
    let summary: [String: Int]
    /// The number of directories with new files that wait for their turn.
    let deferred: Int

    /// The number of files that the agent has taken.
    var count: Int { summary.values.reduce(0, +) }
}

extension Agent {
    /// Asks the agent what it knows.
    func known() async throws -> KnownFiles {
        let output = try await command("status", "--json", "--limit", "0")
        guard output.code == 0 else { throw Surprise("outbox status: \(output.standardError)") }
        return try JSONDecoder().decode(KnownFiles.self, from: Data(output.standardOutput.utf8))
    }
}
