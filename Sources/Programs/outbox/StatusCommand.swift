import AgentConfiguration
import Text
import ArgumentParser
import Console
import Glibc

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the state of files and posts.",
        discussion: """
            Prints a line for each file (state, progress, size, speed, remaining time or next attempt, path, error \
            code) and a summary. For files that you name, it also prints URL and error. The files of a post (a \
            directory with a source.toml) stand below the post's own line. On a terminal only the last ten finished files are shown, and at most 100 files of each other state, unless you \
            give --all.

            A PATH is looked for in the current directory, then in the outbox, and may be a directory. A KEY is the 32 \
            hexadecimal digits of a content. While no agent runs, the command reads the ledger.

            Examples:
              outbox status
              outbox status --watch
              outbox status ~/Outbox/trip/beach.jpg
              outbox status --json | jq -r '.files[] | select(.state == "failed") | .path'
            """)

    @OptionGroup var common: CommonOptions

    @Argument(
        help: ArgumentHelp("The files, directories or contents to show (default: all).", valueName: "path|key"),
        completion: .file())
    var names: [String] = []

    @Flag(help: "Show all finished files.")
    var all = false

    @Option(
        help: ArgumentHelp(
            "Show at most this many files of each state: of finished files, the latest.", valueName: "number"))
    var limit: Int?

    @Flag(help: "Keep showing changes until Ctrl-C.")
    var watch = false

    @Flag(help: "Print a JSON object; with --watch, one line of JSON for each change.")
    var json = false

    func run() async throws {
        let link = try AgentLink(common)
        if watch {
            var watch = StatusWatch(link: link, names: names, json: json)
            return try await watch.run()
        }
        let look = Output.standard.look(link.surroundings.environment)
        let part = try await Snapshot.take(named: names, atMost: limit(look), link)
        let others = part.isRunning ? [] : AgentProcess.all()
        if !part.isRunning {
            Output.error.attempt(
                "outbox: the agent is not running, so this comes from its ledger; start it with `outbox run`")
            let invoker = link.surroundings.environment["SUDO_UID"].flatMap { UInt32($0) }
            for line in AgentProcess.advice(others, user: geteuid(), invoker: invoker) {
                Output.error.attempt("outbox: " + line)
            }
        }
        if json { return try Output.standard.write(json: part.report) }

        for problem in part.problems { Output.error.attempt("outbox: \(DisplayText.escaped(problem))") }
        let isShort = look.isLive && !all && names.isEmpty
        let selection = StatusSelection(
            part.files, sources: part.sources, ended: isShort ? 10 : nil, counts: part.counts)
        var lines = StatusTable(selection.items, look: look, isDetailed: !names.isEmpty).lines()
        if selection.activeLeftOut > 0 {
            lines.append("(\(selection.activeLeftOut) more not finished; --all shows them)")
        }
        if selection.leftOut > 0 { lines.append("(\(selection.leftOut) more finished; --all shows them)") }
        let summary = FilesSummary(
            part.files, sources: part.sources, counts: part.counts, deferred: names.isEmpty ? part.deferred : 0,
            saved: part.saved)
        // "No files yet" would mislead if the user means an agent of somebody else.
        if !others.isEmpty, part.files.isEmpty, part.sources.isEmpty { return try Output.standard.write(lines: lines) }
        lines.append(summary.line(look))
        if names.isEmpty, part.dashboard != nil { lines.append("dashboard: run `outbox dashboard`") }
        try Output.standard.write(lines: lines)
    }

    /// The maximum number of files of each state to show. Nobody reads a million lines, but a program may count them.
    private func limit(_ look: ConsoleLook) -> Int? {
        if let limit { return limit }
        return look.isLive && !all && !json && names.isEmpty ? 100 : nil
    }

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--limit takes a number, such as 100") }
    }
}
