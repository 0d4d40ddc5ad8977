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
