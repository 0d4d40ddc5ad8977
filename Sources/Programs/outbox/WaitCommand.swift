import Text
import ArgumentParser
import Console
import Reports
import UploadCore

struct WaitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until files and posts reach a final state.",
        discussion: """
            Returns when every named file is done, failed, cancelled or rejected. A PATH is looked for in the current \
            directory, then in the outbox. If it exists but the agent has not seen it yet, the command waits for it. A \
            directory stands for every file that the agent knows below it. A directory with a source.toml stands for \
            its post, which is done once the server confirms the post.

            Without names, the command waits for everything but drafts: until the agent has scanned the whole outbox \
            and nothing was under way for 0.3 s. Files that were rejected, removed or dismissed (`outbox cancel`) earlier \
            don't count, unless you give --all-time.

            Examples:
              outbox wait
              outbox wait ~/Outbox/trip/beach.jpg && echo uploaded
              outbox submit sea && outbox wait sea
              outbox wait --timeout 10m --json

            Exit status:
              0   everything is done
              1   a file or post ended in another state
              66  a file is not in the outbox, and the agent does not know it
              69  no agent is running
              75  the --timeout is over
            """)

    @OptionGroup var common: CommonOptions

    @Argument(
        help: ArgumentHelp("The files, directories or contents to wait for (default: all).", valueName: "path|key"),
        completion: .file())
    var names: [String] = []

    @Flag(
        name: [.customLong("all-time"), .customLong("include-rejected")],
        help: "Without names: also count files that were rejected earlier.")
    var allTime = false

    @Option(help: "How long to wait at most: 500ms, 60s, 10m, 2h.", transform: TimeSpan.read)
    var timeout: TimeSpan?

    @Flag(
        help: """
            Print {\"done\": […], \"failed\": […], \"pending\": […], \"files\": [{\"path\", \"state\", \"url\", \"error\"}]} at the \
            end, with paths relative to the outbox.
            """)
    var json = false

    func run() async throws {
        let link = try AgentLink(common)
        let environment = link.surroundings.environment
        let output: Output? = json ? (Output.error.look(environment).isLive ? .error : nil) : .standard
        let display = ProgressDisplay(output: output, environment: environment)
        let targets = try await targets(link)
        var waiting = Waiting(
            link: link, targets: targets, passesOverOldRejections: names.isEmpty && !allTime, listsAll: json,
            display: display)
        let isOver = try await waiting.run(timeout: timeout?.duration)

        if json {
            try Output.standard.write(json: WaitReport(waiting.course, isOver: isOver))
        } else if isOver {
            let look = Output.standard.look(environment)
            let old = waiting.course.passedOver
            let note = old == 0 ? "" : " (and \(old) rejected earlier; --all-time counts them)"
            try Output.standard.write(lines: [waiting.summary.line(look) + note])
        }
        guard isOver else { throw CommandFailure.tryAgain(lateness(waiting)) }
        guard waiting.course.allDone else { throw CommandFailure.answerIsNo }
    }

    /// Resolves the words on the command line.
    ///
    /// - Throws: `CommandFailure.noSuchFile` for a word that names nothing to wait for.
    private func targets(_ link: AgentLink) async throws -> Set<WaitTarget> {
        guard !names.isEmpty else { return [.below(.root)] }
        var finder = TargetFinder(link)
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

    private func lateness(_ waiting: Waiting) -> String {
        let course = waiting.course
        if course.known.allSatisfy(\.isFinal), course.unknown.isEmpty, let obstacle = waiting.obstacle {
            return "wait: the agent could not look at the whole outbox: \(obstacle)"
        }
        let (count, all) = waiting.progress
        let limit = timeout.map { " after \($0.text)" } ?? ""
        let first = course.known.first { !$0.isFinal }.map { "\($0.shownPath) is \($0.state)" }
        let unseen = course.unknown.first.map { "the agent has not seen \(DisplayText.escaped($0.description)) yet" }
        let example = (first ?? unseen).map { ": " + $0 } ?? ""
        return "wait: \(count) of \(all) files have not finished\(limit)"
            + "\(example); the agent continues: wait again or see `outbox status`"
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
