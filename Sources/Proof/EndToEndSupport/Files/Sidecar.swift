package import Foundation

/// A sidecar as contract 3 describes it.
package struct Sidecar: Codable, Equatable {
    package enum State: String, Codable {
        case settling, hashing, processing, queued, uploading, verifying, waiting, paused
        case signedOut = "signed_out"
        case done, failed, cancelled, rejected

        package var isFinal: Bool { [.done, .failed, .cancelled, .rejected].contains(self) }
    }

    package struct Fragments: Codable, Equatable {
        package var total: Int
        package var finished: Int
    }

    package struct Remote: Codable, Equatable {
        package var `protocol`: String
        package var id: String?
        package var url: String?
    }

    package struct Product: Codable, Equatable {
        package var key: String?
        package var type: String?
        package var size: Int?
        package var width: Int?
        package var height: Int?
        package var duration: Double?
        package var recipe: String
        package var error: String?
    }

    package struct Failure: Codable, Equatable {
        package var code: String
        package var message: String
        package var retryable: Bool

        package init(code: String, message: String, retryable: Bool) {
            self.code = code
            self.message = message
            self.retryable = retryable
        }
    }

    package var version: Int
    package var path: String
    package var path_bytes: String?
    package var key: String?
    package var state: State
    package var kind: String?
    package var type: String?
    package var size: Int?
    package var width: Int?
    package var height: Int?
    package var duration: Double?
    package var fragments: Fragments?
    package var progress: Double
    package var hashed: Int?
    package var remote: Remote?
    package var product: Product?
    package var deduplicated: Bool
    package var attempts: Int
    package var next_attempt_at: String?
    package var error: Failure?
    package var accepted_at: String?
    package var started_at: String?
    package var finished_at: String?
    package var updated_at: String?

    /// A sidecar made up by a test. Members without a parameter are null.
    package init(
        version: Int = 1, path: String, key: String?, state: State, progress: Double, deduplicated: Bool = false,
        attempts: Int = 0, error: Failure? = nil
    ) {
        self.version = version
        self.path = path
        self.key = key
        self.state = state
        self.progress = progress
        self.deduplicated = deduplicated
        self.attempts = attempts
        self.error = error
    }

    /// A summary for a line of a report.
    package var brief: String {
        let sent = fragments.map { ", \($0.finished) of \($0.total) fragments" } ?? ""
        let reason = error.map { ", \($0.code): \($0.message)" } ?? ""
        return "\(state.rawValue)\(sent), key \(key ?? "unknown"), \(attempts) attempts\(reason), "
            + "updated \(updated_at ?? "never")"
    }

    /// The keys of every sidecar; unknown values are null.
    package static let keys: Set<String> = [
        "version", "path", "key", "state", "kind", "type", "size", "width", "height", "duration", "fragments",
        "progress", "hashed", "remote", "deduplicated", "attempts", "next_attempt_at", "error", "accepted_at",
        "started_at",
        "finished_at", "updated_at",
    ]

    /// Parses a timestamp of the contract. Returns nil if the text is no such timestamp.
    package static func date(_ text: String?) -> Date? {
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return text.flatMap { try? format.parse($0) }
    }
}
