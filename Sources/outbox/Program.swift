import Agent
import AgentSupport
import ArgumentParser
import Console
import Glibc

/// `outbox`: the agent, and the commands that control it.
struct Outbox: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox",
        abstract: "Brings what you drop into a directory to a server, and says what became of it.",
        discussion: """
            `outbox run` is the agent; all other commands talk to it, or read its files while it is down. The \
            configuration is looked for in --config, $OUTBOX_CONFIG, ./agent.toml, \
            $XDG_CONFIG_HOME/outbox/agent.toml and /etc/outbox/agent.toml; without any, the defaults apply.

            Exit status: 0 success, 1 the answer is no, 64 usage, 66 no such file, 69 the agent is not running, \
            71 a limit of the system, 73 and 74 something cannot be created or used, 75 try again later, 77 not allowed, 78 wrong configuration.
            """,
        version: AgentVersion.current,
        subcommands: [RunCommand.self],
        groupedSubcommands: [
            CommandGroup(name: "Files", subcommands: [StatusCommand.self, WaitCommand.self, PruneCommand.self]),
            CommandGroup(name: "Posts", subcommands: [SubmitCommand.self]),
            CommandGroup(
                name: "Uploads",
                subcommands: [
                    PauseCommand.self, ResumeCommand.self, CancelCommand.self, RetryCommand.self, FirstCommand.self,
                ]),
            CommandGroup(name: "Pictures", subcommands: [AvatarCommand.self]),
            CommandGroup(
                name: "Setting up",
                subcommands: [
                    LoginCommand.self, LogoutCommand.self, ConfigCommand.self, DoctorCommand.self, ServiceCommand.self,
                ]),
        ])
}

@main
enum Program {
    // Must stay on the main thread: a thread of the pool may exceed the process's limit.
    @MainActor
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == RunCommand.configuration.commandName, let failure = StartLimits.prepare().failure {
            exit(report(failure, arguments))
        }
        exit(await status(arguments: arguments))
    }

    /// Runs a command and prints its failure to stderr. The only place that decides the exit status.
    private static func status(arguments: [String]) async -> Int32 {
        do {
            var command = try Outbox.parseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            return 0
        } catch {
            return report(error, arguments)
        }
    }

    private static func report(_ error: any Error, _ arguments: [String]) -> Int32 {
        if let failure = CommandFailure(error) {
            for line in failure.lines { Output.error.attempt("outbox: \(line)") }
            return failure.status
        }
        // Messages of the parser: help and version are success, everything else is wrong usage.
        let code = Outbox.exitCode(for: error)
        if code == .success {
            Output.standard.attempt(Outbox.fullMessage(for: error))
        } else {
            let (type, words) = command(arguments)
            let next = arguments.dropFirst(words.count - 1).first
            let names = type.configuration.subcommands.compactMap { $0.configuration.commandName }
            let line =
                UsageLine.unknownCommand(next, among: names, command: words)
                ?? UsageLine.text(Outbox.message(for: error), command: words)
            Output.error.attempt(line)
        }
        return code.rawValue
    }

    /// The most specific command that the arguments name, and its words.
    private static func command(_ arguments: [String]) -> (type: any ParsableCommand.Type, words: [String]) {
        var type: any ParsableCommand.Type = Outbox.self
        var words = ["outbox"]
        for argument in arguments {
            let next = type.configuration.subcommands.first { $0.configuration.commandName == argument }
            guard let next else { break }
            type = next
            words.append(argument)
        }
        return (type, words)
    }
}
