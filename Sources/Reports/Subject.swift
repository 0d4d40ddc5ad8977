package import UploadCore

/// The states of one kind of subject, with the words for them in JSON.
package protocol StateWord: Hashable, CaseIterable, Sendable {
    /// The word for the state.
    var word: String { get }

    /// The state for a word; `nil` if there is none.
    init?(word: String)

    /// Whether the subject stays in this state until a person acts.
    var isFinal: Bool { get }
}

extension FileState: StateWord {
    package var word: String { rawValue }

    package init?(word: String) { self.init(rawValue: word) }
}

/// The agent's report of a subject: a file or a post.
package protocol SubjectReport: Equatable, Sendable {
    /// The report as clients of the control interface read it.
    associatedtype Entry: SubjectEntry

    /// A stable, opaque id.
    var id: String { get }
    /// The state of the subject.
    var state: Entry.State { get }

    /// The report as the control interface returns it: JSON on one line.
    func controlText() -> [UInt8]
}

/// The JSON of a subject's report: a file or a post.
package protocol SubjectEntry: Codable, Equatable, Sendable {
    associatedtype State: StateWord

    /// What JSON and routes call the subject: `file` or `source`.
    static var noun: String { get }
    /// What messages call the subject: `file` or `post`.
    static var shownNoun: String { get }

    /// A stable, opaque id.
    var id: String { get }
    /// The path relative to the outbox. Bytes that are not UTF-8 are percent-encoded.
    var path: String { get }
    /// The path's bytes in base64, if they are not UTF-8.
    var path_bytes: String? { get }
    /// The word for the state. A newer agent may know more states.
    var state: String { get }
}

extension FileReport: SubjectReport {
    package typealias Entry = FileEntry
}

extension SourceReport: SubjectReport {
    package typealias Entry = SourceEntry
}

extension FileEntry: SubjectEntry {
    package typealias State = FileState

    package static var noun: String { "file" }
    package static var shownNoun: String { "file" }
}

extension SourceEntry: SubjectEntry {
    package typealias State = SourceState

    package static var noun: String { "source" }
    package static var shownNoun: String { "post" }
}
