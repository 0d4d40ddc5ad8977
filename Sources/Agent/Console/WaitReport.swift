import Reports
import UploadCore

/// The result of `wait`, as `--json` prints it. Paths are relative to the outbox.
package struct WaitReport: Encodable, Equatable, Sendable {
    /// The outcome of one file or post.
    struct File: Encodable, Equatable, Sendable {
        var path: String
        /// One of the states of docs/sidecars.md; nil if the agent never saw the file.
        var state: String?
        /// Where the server serves the content.
        var url: String?
        /// Why the file or post is not done.
        var error: FileEntry.Problem?

        private enum CodingKeys: String, CodingKey {
            case path, state, url, error
        }

        /// Encodes missing values as null.
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(path, forKey: .path)
            try container.encode(state, forKey: .state)
            try container.encode(url, forKey: .url)
            try container.encode(error, forKey: .error)
        }
    }

    /// Files whose content the server confirmed.
    package let done: [String]
    /// Files with another outcome, or that vanished before the agent saw them.
    package let failed: [String]
    /// Files in progress when the time ran out.
    package let pending: [String]
    /// All of these, with URL and error.
    let files: [File]

    /// Sums up a wait.
    ///
    /// - Parameters:
    ///   - course: The wait after its last poll.
    ///   - isOver: False if the time ran out. Files unknown to the agent then count as pending.
    package init(_ course: WaitCourse, isOver: Bool) {
        let unknown = course.unknown.map(\.description)
        done = course.known.filter(\.isDone).map(\.path)
        failed = course.known.filter { $0.isFinal && !$0.isDone }.map(\.path) + (isOver ? unknown : [])
        pending = course.known.filter { !$0.isFinal }.map(\.path) + (isOver ? [] : unknown)
        let known = course.known.map { File(path: $0.path, state: $0.state, url: $0.page, error: $0.error) }
        files = known + unknown.map { File(path: $0) }
    }
}
