/// The sidecar of a source, `source.outbox.json`, as contract 6 and docs/posts.md describe it.
package struct SourceSidecar: Decodable, Equatable {
    package enum State: String, Decodable {
        case draft, settling, hashing, queued, uploading, verifying, waiting, paused
        case signedOut = "signed_out"
        case done, failed, cancelled, rejected

        var isFinal: Bool { [.done, .failed, .cancelled, .rejected].contains(self) }
    }

    package struct File: Decodable, Equatable {
        package var path: String
        var name: String
        package var key: String?
        var kind: String?
        package var state: Sidecar.State
        package var progress: Double
        var size: Int?
        var url: String?
        package var error: Sidecar.Failure?

        /// A file entry made up by a test.
        package init(path: String, name: String, key: String?, state: Sidecar.State) {
            self.path = path
            self.name = name
            self.key = key
            self.state = state
            progress = state == .done ? 1 : 0
        }
    }

    var version: Int
    package var id: String
    package var path: String
    var path_bytes: String?
    package var title: String
    package var cover: String?
    package var state: State
    package var revision: Int
    package var url: String?
    package var progress: Double
    package var size: Int
    package var files: [File]
    package var skipped: [String]
    package var pending_changes: [String]
    package var next_attempt_at: String?
    package var error: Sidecar.Failure?
    var accepted_at: String?
    package var finished_at: String?
    package var updated_at: String?

    /// A sidecar made up by a test. The source is done if `url` is not nil.
    package init(id: String, path: String, revision: Int, url: String?, files: [File]) {
        version = 1
        self.id = id
        self.path = path
        title = path
        state = url == nil ? .uploading : .done
        self.revision = revision
        self.url = url
        progress = url == nil ? 0 : 1
        size = 0
        self.files = files
        skipped = []
        pending_changes = []
    }

    /// The keys of every source sidecar; unknown values are null.
    package static let keys: Set<String> = [
        "version", "id", "path", "title", "cover", "state", "revision", "url", "progress", "size", "files", "skipped",
        "pending_changes", "next_attempt_at", "error", "accepted_at", "finished_at", "updated_at",
    ]

    /// Returns the entry of one of the source's files.
    ///
    /// - Parameter name: The file's name, relative to the source's directory.
    package func file(_ name: String) -> File? { files.first { $0.name == name } }

    /// The names of the source's files, in the sidecar's order.
    package var names: [String] { files.map(\.name) }

    /// A summary for a line of a report.
    package var brief: String {
        let files = files.map { "\($0.name) \($0.state.rawValue)" }.joined(separator: ", ")
        let reason = error.map { ", \($0.code): \($0.message)" } ?? ""
        return "\(state.rawValue) at revision \(revision), \(progress) of [\(files)], skipped \(skipped), pending "
            + "\(pending_changes)\(reason), updated \(updated_at ?? "never")"
    }
}
