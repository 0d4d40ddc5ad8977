import Agent
import Text
import ArgumentParser
import ControlAPI
import Reports

struct PruneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Remove sidecars and ledger entries of vanished files.",
        discussion: """
            Removes sidecars and ledger entries of files that are no longer in the outbox, once sidecars.retention is \
            over. Confirmations of content stay in the ledger. The agent also prunes by itself from time to time; the \
            command works with or without a running agent.

            Examples:
              outbox prune
              outbox prune --json
            """)

    @OptionGroup var common: CommonOptions

    @Flag(help: "Print a JSON object: {\"sidecars\": 3, \"entries\": 3}.")
    var json = false

    func run() async throws {
        let link = try AgentLink(common)
        let report: PruneReport
        do {
            report = try await link.client.prune()
        } catch ControlError.notRunning {
            report = try OfflineFiles.prune(configuration: link.configuration)
        }
        if json { return try Output.standard.write(json: report) }
        let (sidecars, files) = (Quantity.count(report.sidecars, "sidecar"), Quantity.count(report.entries, "file"))
        try Output.standard.write(lines: ["removed \(sidecars), forgot \(files)"])
    }
}
