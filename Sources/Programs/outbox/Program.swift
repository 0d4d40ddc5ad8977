import Agent
import ArgumentParser
import Console
import Glibc
import LinuxSystem
import Versions

/// `outbox`: the agent, and the commands that control it.
struct Outbox: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox",
        abstract: "Uploads the files you drop into a directory, and shows the state of each.",
        discussion: """
            `outbox run` is the agent. All other commands talk to the running agent, or read its files while no agent \
            runs.

            The configuration is the first of these that exists: --config, $OUTBOX_CONFIG, ./agent.toml, \
            $XDG_CONFIG_HOME/outbox/agent.toml, /etc/outbox/agent.toml. Without any, the defaults apply.

            Exit status:
              0       success
              1       the answer is no: not everything is done, or something failed
              64      wrong usage
              66      no such file or upload
              69      the agent or the server is unavailable
              71      a system limit is reached
              73, 74  something can't be created, read or written
              75      try again later
              77      not allowed, or the credentials are missing or wrong
              78      the configuration has an error
            """,
        version: ProgramVersion.current,
        subcommands: [RunCommand.self],
        groupedSubcommands: [
            CommandGroup(
                name: "Files",
                subcommands: [
                    StatusCommand.self, DashboardCommand.self, WaitCommand.self, HistoryCommand.self,
                    ReceiptsCommand.self, PruneCommand.self,
                ]),
            CommandGroup(name: "Posts", subcommands: [SubmitCommand.self]),
            CommandGroup(
                name: "Uploads",
                subcommands: [
                    PauseCommand.self, ResumeCommand.self, CancelCommand.self, RetryCommand.self, FirstCommand.self,
                ]),
            CommandGroup(name: "Telling others", subcommands: [HooksCommand.self]),
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
        openMissingStandardDescriptors()
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == RunCommand.configuration.commandName {
            Memory.useOneHeap()
            if let failure = StartLimits.prepare().failure { exit(report(failure, arguments)) }
            TaskPool.takeTasks()
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
