import AgentSupport
import ArgumentParser
import Console
import Reports
import UploadCore

struct WaitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until files and sources are through.",
        discussion: """
            Returns when every named file reached a final state (done, failed, cancelled or rejected). A PATH is looked \
            for in the current directory, then in the outbox; one that is there and that the agent has not seen yet is \
            waited for. A directory stands for all the agent knows below it; one with a source.toml for the post alone, which \
            is done once the server confirmed it. Without names it waits for everything but drafts: until the agent has \
            looked through the whole outbox and nothing has been under way for 0.3 s; files that were rejected before do \
            not count, unless --all-time is given.

            Ends with 0 if all are done, 1 if one is not, 66 for a file that is not in the outbox and that the agent does \
            not know, 69 when no agent is running, 75 when the --timeout is over.

            Examples:
              outbox wait
              outbox wait ~/Outbox/trip/beach.jpg && echo there
              outbox submit sea && outbox wait sea
              outbox wait --timeout 10m --json
            """)

    @OptionGroup var common: CommonOptions

    @Argument(
        help: ArgumentHelp("The files and directories to wait for; all, if none is named.", valueName: "path|key"),
        completion: .file())
    var names: [String] = []

    @Flag(help: "Without names: count files that were rejected before, too.")
    var allTime = false

    @Option(help: "How long to wait at most: 500ms, 60s, 10m, 2h.", transform: TimeSpan.read)
    var timeout: TimeSpan?

    @Flag(
        help: "Print {\"done\": […], \"failed\": […], \"pending\": […]} at the end, with paths relative to the outbox.")
    var json = false

    func run() async throws {
        let link = try AgentLink(common)
        let environment = link.surroundings.environment
        let output: Output? = json ? (Output.error.look(environment).isLive ? .error : nil) : .standard
        let display = ProgressDisplay(output: output, environment: environment)
        let targets = try await targets(link)
        var waiting = Waiting(
            link: link, targets: targets, passesOverOldRejections: names.isEmpty && !allTime, display: display)
        let isOver = try await waiting.run(timeout: timeout?.duration)

        if json {
            try Output.standard.write(json: WaitReport(waiting.course, isOver: isOver))
        } else if isOver {
            let look = Output.standard.look(environment)
            let old = waiting.course.passedOver
            let note = old == 0 ? "" : " (and \(old) rejected earlier; --all-time counts them)"
            try Output.standard.write(lines: [waiting.summary.line(look) + note])
        }
        guard isOver else { throw CommandFailure.tryAgain(lateness(waiting.course)) }
        guard waiting.course.allDone else { throw CommandFailure.answerIsNo }
    }

    /// Resolves the words on the command line.
    ///
    /// - Throws: `CommandFailure.noSuchFile` for a word that names nothing to wait for.
    private func targets(_ link: AgentLink) async throws -> Set<WaitTarget> {
        guard !names.isEmpty else { return [.below(.root)] }
        var finder = FileFinder(link)
        var targets: Set<WaitTarget> = []
        for name in names {
            switch try await finder.find(name) {
            case .file(let file): targets.formUnion(path(of: file, named: name, link).map { [.file($0)] } ?? [])
            case .content(_, let files): targets.formUnion(files.compactMap(\.relativePath).map(WaitTarget.file))
            case .below(let directory): targets.insert(.below(directory))
            case .source(let source):
                guard let path = source.relativePath else { continue }
                targets.insert(.source(path))
                if source.isDraft {
                    Output.error.attempt(
                        "outbox: \(source.shownPath) is a draft: it waits for `outbox submit \(source.typedPath)`")
                }
            case .unseen(let path): targets.insert(.file(path))
            case .unseenSource(let path): targets.insert(.source(path))
            }
        }
        return targets
    }

    /// The path to wait for: the path the user named, even if the file was moved since.
    private func path(of file: FileEntry, named name: String, _ link: AgentLink) -> RelativePath? {
        let named = link.place.candidates(for: link.surroundings.bytes(of: name)).map(\.path)
        return [file.droppedPath, file.relativePath].compactMap(\.self).first(where: named.contains)
            ?? file.relativePath
    }

    private func lateness(_ course: WaitCourse) -> String {
        let report = WaitReport(course, isOver: false)
        let count = report.pending.count
        let limit = timeout.map { " after \($0.text)" } ?? ""
        let first = course.known.first { !$0.isFinal }.map { "\($0.shownPath) is \($0.state)" }
        let unseen = course.unknown.first.map { "\(DisplayText.escaped($0.description)) was not seen yet" }
        let example = (first ?? unseen).map { ": " + $0 } ?? ""
        return "wait: \(count) of \(count + report.done.count + report.failed.count) files are not through\(limit)"
            + "\(example); the agent goes on, wait again or see `outbox status`"
    }
}

/// A duration on the command line.
struct TimeSpan: CustomStringConvertible {
    let text: String
    let duration: Duration

    static let minute = TimeSpan(text: "60s", duration: .seconds(60))

    /// Shown as the default in the help.
    var description: String { text }

    /// Parses an argument.
    ///
    /// - Throws: `ValidationError` that explains the format of durations.
    static func read(_ argument: String) throws -> TimeSpan {
        guard let duration = Duration(written: argument) else {
            throw ValidationError("write a number with its unit, such as 500ms, 60s, 10m, 2h or 30d")
        }
        return TimeSpan(text: argument, duration: duration)
    }
}
