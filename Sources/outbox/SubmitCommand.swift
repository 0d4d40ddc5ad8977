import ArgumentParser
import Console
import ControlAPI
import Reports

struct SubmitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "submit",
        abstract: "Post a directory: upload a draft, or what changed since.",
        discussion: """
            A directory in the outbox with a `source.toml` is one post. With `draft = true` in it nothing is uploaded until \
            this command says so; after that, what was added, changed or removed meanwhile becomes the next revision. A DIR \
            is looked for in the current directory, then in the outbox; one that the agent has not seen yet is waited for, \
            for 10 s.

            Examples:
              echo 'draft = true' > ~/Outbox/sea/source.toml
              outbox submit ~/Outbox/sea && outbox wait ~/Outbox/sea
              outbox submit --json sea | jq -r '.changed[].revision'

            Ends with 0 when every DIR is on its way or done, 1 when one can't be (the reason is told), 66 for one that has \
            no source.toml or is not in the outbox, 69 when no agent is running, 75 when the agent does not see it.
            """)

    @OptionGroup var common: CommonOptions

    @Argument(help: ArgumentHelp("The directories to post.", valueName: "dir"), completion: .directory)
    var directories: [String]

    @Flag(help: "Print a JSON object: {\"changed\": […], \"unchanged\": […], \"failed\": […]}.")
    var json = false

    func run() async throws {
        let link = try AgentLink(common)
        let finder = SourceFinder(link)
        // Resolve all words before acting, so that a typing error does not leave the action half done.
        var sources: [SourceEntry] = []
        for directory in directories { sources.append(try await finder.source(named: directory)) }
        var report = SourceActionReport(.submit)
        var done: Set<String> = []
        for source in sources where done.insert(source.id).inserted {
            guard let outcome = try await link.client.perform(.submit, onSource: source.id) else {
                throw CommandFailure.noSuchFile(name: source.path, reason: "it has just gone")
            }
            report.add(outcome)
        }
        if json {
            try Output.standard.write(json: report)
        } else {
            let look = Output.standard.look(link.surroundings.environment)
            let prospects = Set(report.prospects).count == 1 ? Array(report.prospects.prefix(1)) : report.prospects
            try Output.standard.write(lines: report.lines(look) + prospects)
        }
        for complaint in report.complaints { Output.error.attempt("outbox: \(complaint)") }
        guard report.isFulfilled else { throw CommandFailure.answerIsNo }
    }
}
