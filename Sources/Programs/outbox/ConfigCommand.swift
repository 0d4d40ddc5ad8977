import ControlAPI
import AgentConfiguration
import Text
import ArgumentParser

struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Check and show the configuration.", subcommands: [ConfigCheckCommand.self])
}

struct ConfigCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check the configuration and print the effective values.",
        discussion: """
            Prints every key with its value and where the value comes from; secrets are masked. If the configuration \
            has errors, or is valid but `outbox run` would refuse it, the command prints every error on stderr, one a \
            line, and exits with status 78.

            Examples:
              outbox config check
              outbox config check --config new.toml && systemctl --user restart outbox
              outbox config check --json | jq '.settings[] | select(.origin != "default")'
            """)

    @OptionGroup var common: CommonOptions

    @Flag(help: "Print a JSON object.")
    var json = false

    func run() throws {
        let surroundings = Surroundings()
        let effective: EffectiveConfiguration
        do {
            effective = try common.effectiveConfiguration(in: surroundings)
        } catch {
            throw CommandFailure.configuration(error, all: true)
        }
        if let refusal = effective.configuration.nestingRefusal() {
            throw CommandFailure.agent(.configuration(refusal))
        }
        if json { return try Output.standard.write(json: effective) }
        for warning in effective.notices { Output.error.attempt("outbox: warning: \(warning)") }
        for remark in effective.remarksOnSettings { Output.error.attempt("outbox: note: \(remark)") }
        let file = effective.file.map { "# \($0)" } ?? "# no agent.toml was found: the defaults apply"
        try Output.standard.write(lines: ([file] + effective.lines()).map(DisplayText.escaped))
    }
}
