import FoundationEssentials
package import Text
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

    /// Share of the bytes that the server acknowledged, 0…1; 1 only when done.
    var progress: Double { get }
    /// Size in bytes; `nil` if unknown.
    var knownSize: UInt64? { get }
    /// Bytes per second over the last seconds; `nil` while nothing is sent.
    var bytesPerSecond: UInt64? { get }
    /// Bytes of fragments in flight that the peer acknowledged; `nil` while nothing is sent.
    var bytesInFlight: UInt64? { get }

    /// Writes the members of the sidecar (docs/sidecars.md).
    func write(into text: inout JSONText)
    /// Writes the members of the control interface's answer up to `speed`: those of the sidecar, and others.
    func writeAnswer(into text: inout JSONText)
}

extension SubjectReport {
    /// The sidecar's text: a JSON object with one member or file per line and a trailing newline (docs/sidecars.md).
    package func sidecarText() -> [UInt8] {
        var text = JSONText(layout: .members)
        text.object { write(into: &$0) }
        return text.bytes + [UInt8(ascii: "\n")]
    }

    /// The report as the control interface returns it, on one line: the sidecar's members, `speed` (bytes per second),
    /// `eta` (seconds) and `bytes_in_flight`.
    package func controlText() -> [UInt8] {
        var text = JSONText(layout: .line)
        text.object { text in
            writeAnswer(into: &text)
            text.member("speed", bytesPerSecond)
            text.member("eta", secondsLeft)
            text.member("bytes_in_flight", bytesInFlight)
        }
        return text.bytes
    }

    package func writeAnswer(into text: inout JSONText) { write(into: &text) }

    /// Seconds left at the speed of the last seconds; `nil` if speed or size is unknown.
    var secondsLeft: UInt64? {
        guard let speed = bytesPerSecond, speed > 0, let size = knownSize else { return nil }
        let left = UInt64((1 - min(max(progress, 0), 1)) * Double(size))
        return (left - min(left, bytesInFlight ?? 0)) / speed
    }

    /// The progress in sidecars and answers: rounded down to four decimals, and below 1 until the server has confirmed
    /// the content or post.
    var shownProgress: Double {
        state.word == FileState.done.word ? 1 : min((progress * 10_000).rounded(.down) / 10_000, 0.9999)
    }
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
    /// Size in bytes, of a post the total of its files; nil if unknown.
    var knownSize: UInt64? { get }
    /// Share of the acknowledged bytes, 0…1; 1 only when done.
    var progress: Double { get }
    /// Bytes hashed so far, while a large file is being hashed.
    var hashed: UInt64? { get }
    /// When the next attempt is due, RFC 3339.
    var next_attempt_at: String? { get }
    /// The reason for the state.
    var error: FileEntry.Problem? { get }
    /// When the subject was first seen, RFC 3339.
    var accepted_at: String { get }
    /// When the subject reached a final state, RFC 3339.
    var finished_at: String? { get }
    /// Bytes per second over the last seconds.
    var speed: UInt64? { get }
    /// Seconds left at this speed.
    var eta: UInt64? { get }
    /// Bytes of fragments in flight that the peer acknowledged. Not part of `progress`.
    var bytes_in_flight: UInt64? { get }
    /// The path under which a file was dropped, if `intake.after_upload` moved it.
    var moved_from: String? { get }
    /// URL of the content, or of a post's page.
    var page: String? { get }
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

    package var knownSize: UInt64? { size }
    package var page: String? { remote.url }
}

extension SourceEntry: SubjectEntry {
    package typealias State = SourceState

    package static var noun: String { "source" }
    package static var shownNoun: String { "post" }

    package var knownSize: UInt64? { size }
    package var hashed: UInt64? { nil }
    package var moved_from: String? { nil }
    package var page: String? { url }
}

extension SubjectEntry {
    /// Makes the entry that a client reads from the answer about a report.
    ///
    /// - Throws: DecodingError, if the entry and the answer have different members.
    package init(_ report: some SubjectReport) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(report.controlText()))
    }

    /// The path in the outbox; nil if the entry contains no valid path.
    package var relativePath: RelativePath? { RelativePath(entryPath: path, bytes: path_bytes) }
}

extension RelativePath {
    /// Reads the `path` and the `path_bytes` of an entry.
    fileprivate init?(entryPath: String, bytes: String?) {
        guard let bytes else {
            self.init(entryPath)
            return
        }
        guard let data = Data(base64Encoded: bytes) else { return nil }
        self.init(Array(data))
    }

    /// The bytes in base64 if they are not UTF-8; nil otherwise.
    package var base64IfNotUTF8: String? { isUTF8 ? nil : Data(bytes).base64EncodedString() }
}
