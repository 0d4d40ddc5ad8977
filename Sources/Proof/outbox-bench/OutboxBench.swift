import ArgumentParser
import Versions

/// `outbox-bench`: measures the agent's speed, as ratios against other tools.
@main
struct OutboxBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox-bench",
        abstract: "Measures the built programs from outside. docs/performance.md explains the figures.",
        discussion: """
            Contenders take turns (A B A B …) on the same files, each with a server of its own on this machine. A figure \
            is the median of the ratios within the pairs. rclone, u2c and copyparty must be in PATH; the \
            program skips a missing one, and prints so.
            """,
        version: ProgramVersion.current,
        subcommands: [
            Compare.self, P1.self, P2.self, P3.self, P4.self, P5.self, P6.self, P7.self, P8.self, P9.self, P10.self,
            Remotes.self, Sink.self,
        ])
}
