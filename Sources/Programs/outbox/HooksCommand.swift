import ArgumentParser
import Console
import ControlAPI
import Reports
import Text

struct HooksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hooks",
        abstract: "Show whom the agent tells of outcomes, and whether it works.",
        discussion: """
            Prints a line for each [[hook]] of the configuration: outcomes delivered by this run and waiting, why the last \
            call failed, and when the next attempt is due.

            Examples:
              outbox hooks
              outbox hooks test publish
              outbox hooks skip publish
            """,
        subcommands: [ShowHooks.self, TestHook.self, SkipHook.self], defaultSubcommand: ShowHooks.self)
}

struct ShowHooks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show the hooks.",
        discussion: """
            Examples:
              outbox hooks
              outbox hooks show --json
            """)

    @OptionGroup var common: CommonOptions

    @Flag(help: "Print a JSON object: {\"hooks\": […]}.")
    var json = false

    func run() async throws {
        let hooks = try await AgentLink(common).client.hooks()
        if json { return try Output.standard.write(json: ["hooks": hooks]) }
        if hooks.isEmpty { return Output.error.attempt("outbox: the configuration has no [[hook]]") }
        try Output.standard.write(lines: hooks.flatMap(\.lines))
    }
}

struct TestHook: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test", abstract: "Send a made-up outcome to a hook, and print what came back.",
        discussion: """
            The outcome has "test": true, and is in no journal. Ends with 1 if the hook did not take it.

            Example:
              outbox hooks test publish
            """)

    @OptionGroup var common: CommonOptions

    @Argument(help: "The name of the hook.")
    var name: String

    func run() async throws {
        guard let test = try await AgentLink(common).client.testHook(name) else { throw noSuchHook(name) }
        try Output.standard.write(
            lines: ["\(test.delivered ? "delivered" : "not delivered"): \(DisplayText.escaped(test.answer))"])
        if !test.delivered { throw CommandFailure.answerIsNo }
    }
}

struct SkipHook: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "skip", abstract: "Give up all outcomes that wait for a hook.",
        discussion: """
            Example:
              outbox hooks skip publish
            """)

    @OptionGroup var common: CommonOptions

    @Argument(help: "The name of the hook.")
    var name: String

    func run() async throws {
        guard try await AgentLink(common).client.skipHook(name) else { throw noSuchHook(name) }
    }
}

private func noSuchHook(_ name: String) -> CommandFailure {
    .noSuchFile(name: name, reason: "the running agent has no [[hook]] of this name; `outbox hooks` lists them")
}

extension HookStatus {
    /// The hook for people: one line, and a second one while it fails.
    fileprivate var lines: [String] {
        let lost = givenUp == 0 ? "" : ", \(givenUp) given up"
        let line = "\(name): \(delivered) delivered, \(waiting) waiting\(lost)"
        guard let error else { return [line] }
        let next = nextAttemptAt.map { ", next attempt at \($0)" } ?? ""
        return [line, "    \(DisplayText.escaped(error))\(next)"]
    }
}
