import ArgumentParser
import Console
import ControlAPI
import Reports
import UploadCore

/// The arguments and the execution shared by all commands that act on files.
struct ActionOptions: ParsableArguments {
    @OptionGroup var common: CommonOptions

    @Argument(
        help: ArgumentHelp("The files, directories, posts or contents to act on.", valueName: "path|key"),
        completion: .file())
    var names: [String] = []

    @Flag(help: "Act on all files and posts.")
    var all = false

    @Flag(help: "Print a JSON object: {\"changed\": […], \"unchanged\": […], \"failed\": […], \"counts\": {…}}.")
    var json = false

    func validate() throws {
        if names.isEmpty && !all { throw ValidationError("name a path or a key, or give --all") }
        if !names.isEmpty && all { throw ValidationError("give either names or --all") }
    }

    /// Performs the action and reports the result.
    ///
    /// - Throws: `CommandFailure.answerIsNo` if a target is not in the wanted state.
    func run(_ action: UserAction) async throws {
        let link = try AgentLink(common)
        var report = ActionReport(action)
        if all {
            try await actOnAll(action, link, &report)
        } else {
            // Resolve all words before acting, so that a typing error does not leave the action half done.
            var finder = TargetFinder(link)
            var targets: [TargetFinder.Found] = []
            for name in names { targets.append(try await finder.findKnown(name)) }
            var done: Set<String> = []
            // Each `first` goes ahead of the ones before, so act in reverse order: the target named first ends up
            // first.
            for target in action == .first ? targets.reversed() : targets {
                try await act(action, on: target, &finder, link, &done, &report)
            }
        }
        try tell(action, report, link)
    }

    private func actOnAll(_ action: UserAction, _ link: AgentLink, _ report: inout ActionReport) async throws {
        report.add(try await link.client.performOnAll(action))
    }

    private func act(
        _ action: UserAction, on target: TargetFinder.Found, _ finder: inout TargetFinder, _ link: AgentLink,
        _ done: inout Set<String>, _ report: inout ActionReport
    ) async throws {
        switch target {
        case .file(let file):
            guard done.insert(file.id).inserted else { return }
            guard let outcome = try await link.client.perform(action, onFile: file.id) else {
                throw CommandFailure.noSuchFile(name: file.path, reason: "the file was removed a moment ago")
            }
            report.add(outcome, isNamed: true)
        case .content(let key, let files):
            guard let outcome = try await link.client.perform(action, onUpload: key) else {
                throw CommandFailure.noSuchFile(
                    name: "\(key)", reason: "the files with this content were removed a moment ago")
            }
            // If all paths of the content are final, each path must report its reason.
            let isOver = files.allSatisfy(\.isFinal)
            report.add(outcome, isNamed: isOver)
        case .source(let source):
            try await act(action, on: source, link, &done, &report)
        case .below(let directory):
            // A source is one unit: the action does not apply to its files individually.
            let sources = try await finder.sourcesBelow(directory).filter(action.concerns)
            for source in action == .first ? sources.reversed() : sources {
                try await act(action, on: source, link, &done, &report)
            }
            report.add(try await link.client.performOnAll(action, below: directory))
        case .unseen, .unseenSource: break
        }
    }

    private func act(
        _ action: UserAction, on source: SourceEntry, _ link: AgentLink, _ done: inout Set<String>,
        _ report: inout ActionReport
    ) async throws {
        guard done.insert(source.id).inserted else { return }
        guard let outcome = try await link.client.perform(action, onSource: source.id) else {
            throw CommandFailure.noSuchFile(name: source.path, reason: "the post was removed a moment ago")
        }
        report.add(outcome)
    }

    private func tell(_ action: UserAction, _ report: ActionReport, _ link: AgentLink) throws {
        let environment = link.surroundings.environment
        if json {
            try Output.standard.write(json: report)
        } else {
            let standing = all ? action.standing.map { [$0] } : nil
            let lines = report.isEmpty && standing != nil ? [] : report.lines(Output.standard.look(environment))
            try Output.standard.write(lines: lines + (standing ?? []))
        }
        for complaint in report.complaints { Output.error.attempt("outbox: \(complaint)") }
        guard report.isFulfilled else { throw CommandFailure.answerIsNo }
    }
}
