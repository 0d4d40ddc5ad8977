import ArgumentParser
import Console
import ControlAPI
import Reports
import UploadCore

struct SubmitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "submit",
        abstract: "Post a directory: upload a draft, or the changes since the last revision.",
        discussion: """
            A directory in the outbox with a source.toml is a post. With `draft = true` in that file, nothing is \
            uploaded until this command. Submitting again uploads what was added, changed or removed since, as the \
            next revision. A DIR is looked for in the current directory, then in the outbox. If the agent has not seen \
            it yet, the command waits up to 10 s.

            Examples:
              echo 'draft = true' > ~/Outbox/sea/source.toml
              outbox submit ~/Outbox/sea && outbox wait ~/Outbox/sea
              outbox submit --json sea | jq -r '.changed[].revision'

            Exit status:
              0   every DIR is under way or done
              1   a DIR can't be submitted; the reason is on stderr
              66  a DIR has no source.toml or is not in the outbox
              69  no agent is running
              75  the agent has not seen a DIR within 10 s
            """)

    @OptionGroup var common: CommonOptions

    @Argument(help: ArgumentHelp("The directories to post.", valueName: "dir"), completion: .directory)
    var directories: [String]

    @Flag(help: "Print a JSON object: {\"changed\": […], \"unchanged\": […], \"failed\": […]}.")
    var json = false

    func run() async throws {
        let link = try AgentLink(common)
        var finder = TargetFinder(link)
        // Resolve all words before acting, so that a typing error does not leave the action half done.
        var sources: [SourceEntry] = []
        // A directory within a post is no typing error: the others are submitted.
        var within: [CommandFailure] = []
        for directory in directories {
            do {
                sources.append(try await finder.findSource(directory))
            } catch CommandFailure.partOfPost(let name, let post) {
                within.append(.partOfPost(name: name, post: post))
            }
        }
        var report = ActionReport(.submit)
        var done: Set<String> = []
        for source in sources where done.insert(source.id).inserted {
            guard let outcome = try await link.client.perform(.submit, onSource: source.id) else {
                throw CommandFailure.noSuchFile(name: source.path, reason: "the post was removed a moment ago")
            }
            report.add(outcome)
        }
        if json {
            try Output.standard.write(json: report.sources ?? ActionTally())
        } else {
            if report.isEmpty, !within.isEmpty { throw within[0] }
            let look = Output.standard.look(link.surroundings.environment)
            let prospects = Set(report.prospects).count == 1 ? Array(report.prospects.prefix(1)) : report.prospects
            try Output.standard.write(lines: report.lines(look) + prospects)
        }
        for complaint in report.complaints { Output.error.attempt("outbox: \(complaint)") }
        for line in within.flatMap(\.lines) { Output.error.attempt("outbox: \(line)") }
        guard report.isFulfilled, within.isEmpty else { throw CommandFailure.answerIsNo }
    }
}
