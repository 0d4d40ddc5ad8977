import Agent
import AgentConfiguration
import ArgumentParser
import Console
import Ledger
import LinuxSystem
import Reports
import Text
import UploadCore

/// A time on the command line: `7d` ago, or a date.
struct TimeArgument: ExpressibleByArgument {
    let time: WallTime

    init?(argument: String) {
        if let duration = Duration(written: argument) {
            time = WallTime(milliseconds: wallTimeMilliseconds()).advanced(by: .zero - duration)
        } else if let time = Timestamp.time(argument) {
            self.time = time
        } else {
            return nil
        }
    }
}

/// The rows of the journal that a command is about.
struct HistoryOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only outcomes since then: a duration such as 7d, a date, or a time such as 2026-11-01T09:30:00Z.",
            valueName: "time"))
    var since: TimeArgument?

    @Option(help: ArgumentHelp("Only outcomes before then.", valueName: "time"))
    var until: TimeArgument?
}

struct HistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Say what became of files: whether they arrived, when, and where they are.",
        discussion: """
            Prints a line for each outcome, the latest first: time, state, size, the name then and, if it has changed \
            since, the name now. The line below has the URL, or the reason of a failure. A NAME is the last part of a \
            path, or more of its end; * ? and [...] match as in a shell, and letters match in either case. A KEY is \
            the 32 hexadecimal digits of a content. Also finds files that were deleted, moved or renamed since. Reads the \
            ledger itself, so it works with and without a running agent. Outcomes stay for history.keep.

            Examples:
              outbox history DSC_0042.JPG
              outbox history 'trip/*.jpg' --since 7d
              outbox history --state failed --limit 20
              outbox history --json | jq -r 'select(.event == "done") | .remote.url'
            """)

    @OptionGroup var common: CommonOptions

    @Argument(help: ArgumentHelp("The files to look for (default: all).", valueName: "name|path|key"))
    var names: [String] = []

    @OptionGroup var range: HistoryOptions

    @Option(
        help: ArgumentHelp(
            "Only these states, separated by commas: done, failed, rejected, cancelled.", valueName: "states"))
    var state: String?

    @Option(
        help: ArgumentHelp(
            "At most so many outcomes, the latest (default: 20 without names, else all).", valueName: "number"))
    var limit: Int?

    @Flag(help: "Print a JSON object for each outcome, one a line.")
    var json = false

    func run() async throws {
        let link = try AgentLink(common)
        let query = JournalQuery(
            names: names.map { pathInOutbox($0, link) }, outcomes: try outcomes(), since: range.since?.time,
            until: range.until?.time, limit: limit ?? (names.isEmpty && !json ? 20 : .max))
        let journal = try JournalFile(link.configuration).journal(query)
        if journal.entries.isEmpty {
            if !json {
                let what = names.isEmpty ? "nothing has ended" : "no outcome of \(names.joined(separator: ", "))"
                Output.error.attempt("outbox: \(DisplayText.escaped(what)) in the journal (history.keep)")
            }
            throw CommandFailure.answerIsNo
        }
        if json {
            return try Output.standard.write(
                lines: journal.entries.map { String(decoding: journal.json($0), as: UTF8.self) })
        }
        let look = Output.standard.look(link.surroundings.environment)
        try Output.standard.write(lines: journal.entries.flatMap { $0.lines(look) })
    }

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--limit takes a number, such as 100") }
        _ = try outcomes()
    }

    /// A path that a shell completed is one in the outbox.
    private func pathInOutbox(_ name: String, _ link: AgentLink) -> String {
        let prefix = link.configuration.outbox + "/"
        return name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : name
    }

    private func outcomes() throws -> Set<JournalRow.Outcome>? {
        guard let state else { return nil }
        return Set(
            try state.split(separator: ",").map { word in
                guard let outcome = JournalRow.Outcome(word: String(word)) else {
                    throw ValidationError(
                        "--state: unknown state \(word); the states are done, failed, rejected and cancelled")
                }
                return outcome
            })
    }
}

extension JournalEntry {
    /// The outcome for people: one line, and a second one with the details.
    func lines(_ look: ConsoleLook) -> [String] {
        let time = Timestamp.text(row.time).prefix(19).replacing("T", with: " ")
        let size = row.size.map { Quantity.size($0) } ?? ""
        let word = row.subject == .file ? row.outcome.word : "\(row.event) \(row.outcome.word)"
        let name = DisplayText.escaped(row.path.description)
        let now = place.map { ", now \(DisplayText.escaped($0.description))" } ?? ""
        let state = word + String(repeating: " ", count: max(0, 9 - word.count))
        let padded = String(repeating: " ", count: max(0, 8 - size.count)) + size
        let colour: Colour? =
            switch row.outcome {
            case .done, .recovered, .idle: .green
            case .failed, .rejected, .trouble: .red
            case .cancelled: nil
            }
        return ["\(time)  \(look.paint(state, colour))  \(padded)  \(name)\(now)"] + details.map { "    \($0)" }
    }

    private var details: [String] {
        var details: [String] = []
        if let url = row.remote.url { details.append(DisplayText.escaped(url)) }
        if let error = row.error { details.append("\(error.code): \(DisplayText.escaped(error.message))") }
        if let key = row.key { details.append("key \(key)" + (row.sent.map { ", sent as \($0.key)" } ?? "")) }
        return details
    }
}
