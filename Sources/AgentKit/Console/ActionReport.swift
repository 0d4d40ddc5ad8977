public import UploadCore

/// What became of an action over all that was named, as its `--json` prints it.
public struct ActionReport: Encodable, Equatable, Sendable {
    /// Files that are in another state or place now.
    public private(set) var changed: [FileEntry] = []
    /// Files that were as they should be.
    public private(set) var unchanged: [ActionOutcome.Unchanged] = []
    /// Files that are not as they should be, with the reason.
    public private(set) var failed: [ActionOutcome.Unchanged] = []

    /// What became of the sources that were named; nil where there was none.
    public private(set) var sources: SourceActionReport?

    private let action: FileAction

    private enum CodingKeys: CodingKey {
        case changed, unchanged, failed, sources
    }

    /// More files than this are counted, not listed.
    private static let longestList = 20

    /// Nothing done yet.
    public init(_ action: FileAction) {
        self.action = action
    }

    /// Takes in what the agent says.
    ///
    /// - Parameter isNamed: whether each file was named by itself. Of a group only those are failures that the action
    ///   could have done something to: `pause` of a directory passes over what is done already.
    public mutating func add(_ outcome: ActionOutcome, isNamed: Bool) {
        changed += outcome.changed
        for file in outcome.unchanged {
            let state = FileState(rawValue: file.file.state)
            let isFine = state.map { action.isFulfilled(by: $0) || (!isNamed && !action.concerns($0)) } ?? false
            if isFine { unchanged.append(file) } else { failed.append(file) }
        }
    }

    /// Takes in what the agent says of a source.
    public mutating func add(_ outcome: SourceOutcome) {
        var report = sources ?? SourceActionReport(SourceWish(action))
        report.add(outcome)
        sources = report
    }

    /// Whether everything named is as it should be.
    public var isFulfilled: Bool { failed.isEmpty && sources?.isFulfilled ?? true }

    /// What to say to a person about what went well.
    public func lines(_ look: ConsoleLook) -> [String] {
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
            lines.append("\(unchanged.count) files are as they were")
        } else if unchanged.count <= Self.longestList {
            lines += unchanged.map { look.paint("unchanged", .dim) + " \($0.file.shownPath): \(Self.shown($0.reason))" }
        }
        return lines
    }

    /// What to say about what went wrong, a line each.
    public var complaints: [String] {
        let shown = failed.prefix(Self.longestList).map { file in
            "cannot \(action) \(file.file.shownPath): \(Self.shown(file.reason))"
        }
        return (sources?.complaints ?? []) + shown
            + (failed.count > shown.count ? ["and \(failed.count - shown.count) more files"] : [])
    }

    private static func shown(_ reason: String) -> String { DisplayText.escaped(reason) }
}
