package import UploadCore

/// The outcome of an action for one file or post.
package struct ActionOutcome<Subject: Equatable & Sendable>: Equatable, Sendable {
    /// The file or post after the action.
    package var subject: Subject
    /// Why the action changed nothing, for people: `it is done already`; `nil` if the action was carried out.
    package var refusal: String?

    /// Creates an outcome.
    package init(_ subject: Subject, refusal: String? = nil) {
        self.subject = subject
        self.refusal = refusal
    }
}

extension ActionOutcome: Encodable where Subject: SubjectEntry {
    /// The name of a member that depends on the kind of subject.
    private struct Member: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }
    }

    /// `{"file":…,"reason":…}` or `{"source":…,"reason":…}`
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Member.self)
        try container.encode(subject, forKey: Member(stringValue: Subject.noun))
        try container.encodeIfPresent(refusal, forKey: Member(stringValue: "reason"))
    }
}

extension Sequence {
    /// The files or posts that an action changed.
    package func changed<Subject>() -> [Subject] where Element == ActionOutcome<Subject> {
        compactMap { $0.refusal == nil ? $0.subject : nil }
    }
}

/// What an action did to files: the outcome of each, or of the first ones, and how many there are.
package struct ActionAnswer<Subject: Equatable & Sendable>: Equatable, Sendable {
    /// The outcomes, sorted by path; not all if there are very many.
    package var outcomes: [ActionOutcome<Subject>]
    /// The number of files that changed.
    package var changed: Int
    /// The number of files that refused the action.
    package var unchanged: Int
    /// Whether the agent continues with more files later.
    package var continues = false

    /// Creates an answer with all outcomes.
    package init(_ outcomes: [ActionOutcome<Subject>]) {
        self.outcomes = outcomes
        changed = outcomes.count { $0.refusal == nil }
        unchanged = outcomes.count - changed
    }
}

/// The target of an action.
package enum ActionTarget: Hashable, Sendable {
    /// The path whose entry has this id.
    case file(id: String)
    /// Every path with this content.
    case upload(ContentKey)
}

/// The result of a clean-up.
package struct PruneReport: Codable, Equatable, Sendable {
    /// Number of removed sidecars whose files are gone.
    package var sidecars: Int
    /// Number of removed ledger entries whose files are gone.
    package var entries: Int

    /// Creates a report.
    package init(sidecars: Int = 0, entries: Int = 0) {
        self.sidecars = sidecars
        self.entries = entries
    }
}
