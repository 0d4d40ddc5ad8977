import Text
package import Reports
package import UploadCore

/// The result of an action on all named files and posts, as `--json` prints it.
package struct ActionReport: Encodable, Equatable, Sendable {
    /// Results for the named files, and for all files of named directories.
    private var files = ActionTally<FileEntry>()
    /// Results for the named posts; nil if no post was named.
    package private(set) var sources: ActionTally<SourceEntry>?

    private let action: UserAction
    /// Whether the agent acts on more files later.
    private var continues = false

    /// Longer lists of files are cut and counted.
    private static let longestList = 20

    /// Creates an empty report.
    package init(_ action: UserAction) {
        self.action = action
    }

    private enum CodingKeys: CodingKey {
        case sources, continues
    }

    package func encode(to encoder: any Encoder) throws {
        try files.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(sources, forKey: .sources)
        if continues { try container.encode(true, forKey: .continues) }
    }

    /// Adds the agent's answer for files.
    ///
    /// - Parameter isNamed: Whether the user named each file individually. In a group, a file that the action does not
    ///   concern is no failure: `pause` of a directory skips finished files.
    package mutating func add(_ outcomes: [ActionOutcome<FileEntry>], isNamed: Bool) {
        for outcome in outcomes {
            let state = FileState(rawValue: outcome.subject.state)
            let isFine = state.map { action.isFulfilled(by: $0) || (!isNamed && !action.concerns($0)) } ?? false
            files.add(outcome, isFine: isFine)
        }
    }

    /// Adds the agent's answer for all files, or for those of a directory. It may count more files than it lists.
    package mutating func add(_ answer: ActionAnswer<FileEntry>) {
        add(answer.outcomes, isNamed: false)
        let listed = answer.outcomes.changed().count
        files.counts.changed += answer.changed - listed
        files.counts.unchanged += answer.unchanged - (answer.outcomes.count - listed)
        if answer.continues { continues = true }
    }

    /// Adds the agent's answer for a post.
    package mutating func add(_ outcome: ActionOutcome<SourceEntry>) {
        var outcome = outcome
        let post = outcome.subject
        // The submitted post was rejected or failed at once.
        if outcome.refusal == nil, action == .submit, post.isFinal, !post.isDone {
            outcome.refusal = post.error?.message ?? "the post is \(post.state)"
        }
        let isFine = action.isFulfilled(by: post) && post.error?.code != "other_account"
        sources = sources ?? ActionTally()
        sources?.add(outcome, isFine: isFine)
    }

    /// Whether everything named is in the wanted state.
    package var isFulfilled: Bool { files.failed.isEmpty && sources?.failed.isEmpty ?? true }

    /// Whether the action changed nothing, and nothing was in the wanted state.
    package var isEmpty: Bool { files.changed.isEmpty && files.unchanged.isEmpty && sources == nil }

    /// Success messages for the user.
    package func lines(_ look: ConsoleLook) -> [String] {
        let done = action.pastParticiple
        let posts = sources?.lines(done, look) { post in
            guard action == .submit else { return "" }
            return ": \(Quantity.count(post.files.count, "file")), \(Quantity.size(post.size))"
        }
        let rest = continues ? ["the agent continues with the other files by itself"] : []
        guard files.isEmpty else { return (posts ?? []) + files.lines(done, look, longest: Self.longestList) + rest }
        return (posts ?? (continues ? [] : [action.nothingToDo])) + rest
    }

    /// Error messages for the user, one line each.
    package var complaints: [String] {
        (sources?.complaints(action) ?? []) + files.complaints(action, longest: Self.longestList)
    }

    /// What happens next to each submitted post, one line each.
    package var prospects: [String] {
        guard action == .submit else { return [] }
        return (sources?.changed ?? []).map(\.prospect)
    }
}

/// The result of an action on several files, or on several posts.
package struct ActionTally<Entry: SubjectEntry>: Encodable, Equatable, Sendable {
    /// The numbers of files or posts, listed or not.
    struct Counts: Encodable, Equatable, Sendable {
        var changed = 0
        var unchanged = 0
        var failed = 0
    }

    /// Files or posts that the action changed.
    private(set) var changed: [Entry] = []
    /// Files or posts already in the wanted state, with the agent's reason.
    private(set) var unchanged: [ActionOutcome<Entry>] = []
    /// Files or posts not in the wanted state, with the reason.
    private(set) var failed: [ActionOutcome<Entry>] = []
    /// How many there are. Of very many the agent lists only the first.
    var counts = Counts()

    /// Creates an empty tally.
    package init() {}

    /// Adds an outcome.
    ///
    /// - Parameter isFine: Whether a refusal is no failure.
    mutating func add(_ outcome: ActionOutcome<Entry>, isFine: Bool) {
        if outcome.refusal == nil {
            changed.append(outcome.subject)
            counts.changed += 1
        } else if isFine {
            unchanged.append(outcome)
            counts.unchanged += 1
        } else {
            failed.append(outcome)
            counts.failed += 1
        }
    }

    /// Whether there is no outcome at all.
    var isEmpty: Bool { changed.isEmpty && unchanged.isEmpty && failed.isEmpty }

    /// Success messages for the user.
    ///
    /// - Parameters:
    ///   - done: The completed action: `paused`.
    ///   - longest: Longer lists are counted.
    ///   - remark: Text to append to a changed entry.
    func lines(
        _ done: String, _ look: ConsoleLook, longest: Int = .max, remark: (Entry) -> String = { _ in "" }
    ) -> [String] {
        var lines: [String] = []
        if changed.count > longest {
            lines.append("\(counts.changed) \(Entry.shownNoun)s \(done)")
        } else {
            lines += changed.map { look.paint(done, .green) + " " + $0.shownPath + remark($0) }
        }
        if unchanged.count <= longest {
            lines += unchanged.map { look.paint("unchanged", .dim) + " \($0.subject.shownPath): \($0.shownReason)" }
        } else if changed.isEmpty {
            lines.append("\(counts.unchanged) \(Entry.shownNoun)s are unchanged")
        }
        return lines
    }

    /// Error messages for the user, one line each.
    func complaints(_ action: UserAction, longest: Int = .max) -> [String] {
        let shown = failed.prefix(longest).map { outcome in
            "\(action.failure(outcome.subject.shownPath)): \(outcome.shownReason)"
        }
        return shown
            + (failed.count > shown.count ? ["and \(failed.count - shown.count) more \(Entry.shownNoun)s"] : [])
    }
}

extension ActionOutcome where Subject: SubjectEntry {
    fileprivate var shownReason: String { DisplayText.escaped(refusal ?? "") }
}
