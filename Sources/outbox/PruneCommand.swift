import Agent
import ArgumentParser
import ControlAPI
import Reports

struct PruneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prune",
        abstract: "Remove what is left of files that are gone.",
        discussion: """
            Removes sidecars and entries of files that are no longer in the outbox and whose sidecars.retention is over. \
            That the server confirmed a content is not forgotten. An agent does this by itself now and then; while none \
            runs, the command does it.

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
        try Output.standard.write(lines: ["removed \(report.sidecars) sidecars and \(report.entries) entries"])
    }
}
