import Foundation

/// A source's sidecar as docs/sources.md describes it.
package struct SourceSidecar: Decodable, Equatable {
    package struct File: Decodable, Equatable {
        package var path: String
        package var name: String
        package var key: String?
        package var state: Sidecar.State

        package init(path: String, name: String, key: String?, state: Sidecar.State) {
            self.path = path
            self.name = name
            self.key = key
            self.state = state
        }
    }

    package var version: Int
    package var id: String
    package var path: String
    package var title: String
    package var cover: String?
    /// The word of one of the states of files, or `draft`.
    package var state: String
    package var revision: Int
    package var url: String?
    package var progress: Double
    package var size: Int
    package var files: [File]
    package var skipped: [String]
    package var pending_changes: [String]
    package var next_attempt_at: String?
    package var error: Sidecar.Failure?

    /// A sidecar as a test makes one up, of a source that is done where it has a URL.
    package init(id: String, path: String, revision: Int, url: String?, files: [File]) {
        version = 1
        self.id = id
        self.path = path
        title = path
        state = url == nil ? "uploading" : "done"
        self.revision = revision
        self.url = url
        progress = url == nil ? 0 : 1
        size = 0
        self.files = files
        skipped = []
        pending_changes = []
    }

    /// What matters of it, for a line of a report.
    package var brief: String {
        let reason = error.map { ", \($0.code): \($0.message)" } ?? ""
        let open = files.filter { $0.state != .done }.map { "\($0.name) \($0.state.rawValue)" }.prefix(5)
        return "\(state), revision \(revision), \(files.count) files\(reason), open: \(open), skipped: \(skipped), "
            + "pending: \(pending_changes)"
    }
}

extension Agent {
    /// The sidecar of the source in `directory`, nil where there is none.
    ///
    /// - Throws: `DecodingError` where it is not whole: readers never see half of one.
    package func source(_ directory: String) throws -> SourceSidecar? {
        guard let data = FileManager.default.contents(atPath: path("\(directory)/source.outbox.json")) else {
            return nil
        }
        return try JSONDecoder().decode(SourceSidecar.self, from: data)
    }
}
