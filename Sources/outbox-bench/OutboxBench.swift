import ArgumentParser

/// `outbox-bench`: measures the agent's speed, as ratios against other tools.
@main
struct OutboxBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox-bench",
        abstract: "Measures the built programs from outside; docs/performance.md says what each figure means.",
        discussion: """
            Contenders take turns (A B A B …) on the same files, each with a server of its own on this machine; figures \
            are medians of the ratios within a pair. rclone, u2c, copyparty and vipsthumbnail are looked for in \
            PATH and left out, saying so, where they are missing.
            """,
        subcommands: [
            P1.self, P2.self, P3.self, P4.self, P5.self, P6.self, P8.self, P10.self, P11.self, AvatarsCommand.self,
            All.self,
            Sink.self,
        ])
}
