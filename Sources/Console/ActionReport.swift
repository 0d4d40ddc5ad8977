import AgentSupport
package import Reports
package import UploadCore

/// The result of an action on all named files and sources, as `--json` prints it.
package struct ActionReport: Encodable, Equatable, Sendable {
    /// Files whose state or position changed.
    package private(set) var changed: [FileEntry] = []
    /// Files already in the wanted state.
    package private(set) var unchanged: [ActionOutcome.Unchanged] = []
    /// Files not in the wanted state, with the reason.
    package private(set) var failed: [ActionOutcome.Unchanged] = []

    /// Results for the named sources; nil if no source was named.
    package private(set) var sources: SourceActionReport?

    private let action: FileAction

    private enum CodingKeys: CodingKey {
        case changed, unchanged, failed, sources
    }

    /// Longer lists of files are cut and counted.
    private static let longestList = 20

    /// Creates an empty report.
    package init(_ action: FileAction) {
        self.action = action
    }

    /// Adds the agent's answer.
    ///
    /// - Parameter isNamed: Whether the user named each file individually. In a group, a file that the action does not
    ///   concern is no failure: `pause` of a directory skips finished files.
    package mutating func add(_ outcome: ActionOutcome, isNamed: Bool) {
        changed += outcome.changed
        for file in outcome.unchanged {
            let state = FileState(rawValue: file.file.state)
            let isFine = state.map { action.isFulfilled(by: $0) || (!isNamed && !action.concerns($0)) } ?? false
            if isFine { unchanged.append(file) } else { failed.append(file) }
        }
    }

    /// Adds the agent's answer for a source.
    package mutating func add(_ outcome: SourceOutcome) {
        var report = sources ?? SourceActionReport(SourceWish(action))
        report.add(outcome)
        sources = report
    }

    /// Whether everything named is in the wanted state.
    package var isFulfilled: Bool { failed.isEmpty && sources?.isFulfilled ?? true }

    /// Success messages for the user.
    package func lines(_ look: ConsoleLook) -> [String] {
        guard let sources else { return fileLines(look) }
        let hasFiles = !(changed.isEmpty && unchanged.isEmpty && failed.isEmpty)
        return sources.lines(look) + (hasFiles ? fileLines(look) : [])
    }

    private func fileLines(_ look: ConsoleLook) -> [String] {
        let done = action.pastParticiple
        guard !changed.isEmpty || !unchanged.isEmpty else { return failed.isEmpty ? [action.nothingToDo] : [] }
        var lines: [String] = []
        if changed.count <= Self.longestList {
            lines = changed.map { look.paint(done, .green) + " " + $0.shownPath }
        } else {
            lines = ["\(changed.count) files \(done)"]
        }
        if changed.isEmpty && unchanged.count > Self.longestList {
            lines.append("\(unchanged.count) files are unchanged")
        } else if unchanged.count <= Self.longestList {
            lines += unchanged.map { look.paint("unchanged", .dim) + " \($0.file.shownPath): \(Self.shown($0.reason))" }
        }
        return lines
    }

    /// Error messages for the user, one line each.
    package var complaints: [String] {
        let shown = failed.prefix(Self.longestList).map { file in
            "cannot \(action) \(file.file.shownPath): \(Self.shown(file.reason))"
        }
        return (sources?.complaints ?? []) + shown
            + (failed.count > shown.count ? ["and \(failed.count - shown.count) more files"] : [])
    }

    private static func shown(_ reason: String) -> String { DisplayText.escaped(reason) }
}
