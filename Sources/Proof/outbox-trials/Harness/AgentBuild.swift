import EndToEndSupport
import Foundation
import TestSupport

/// How the agent was built, which decides some bars.
enum AgentBuild {
    /// The most memory in MiB of an idle agent of a release build.
    private static let idle = 32

    /// Whether the agent is a release build, judged by the package manager's directory name.
    static func isRelease() throws -> Bool {
        try URL(fileURLWithPath: Program.path(of: "outbox")).deletingLastPathComponent().lastPathComponent == "release"
    }

    /// Returns the limit of peak memory in MiB. A debug build uses more memory from the start, but must not grow more.
    ///
    /// - Parameters:
    ///   - most: The limit of a release build.
    ///   - idle: The peak memory of this agent after its start.
    static func memoryLimit(_ most: Int, idle: Int) throws -> Int { try isRelease() ? most : idle + most - Self.idle }
}

extension Agent {
    /// The peak memory in MiB; 0 if the agent does not run.
    var peakMemory: Int { (program?.peakResidentBytes ?? 0) >> 20 }
}

extension Agent {
    /// Waits until a fault of the trial kills the agent. Returns false if none does.
    func died(within patience: Duration) async throws -> Bool {
        do {
            try await Poll.until("the agent's end", timeout: patience, every: .milliseconds(5)) {
                program?.ending != nil
            }
        } catch is Poll.TimedOut { return false }
        guard program?.ending == .killed(9) else {
            throw Surprise("the agent ended by itself: \(String(describing: program?.ending))\n\(log)")
        }
        return true
    }
}

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
