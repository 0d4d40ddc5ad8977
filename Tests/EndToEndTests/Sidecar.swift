import Foundation

/// A sidecar as contract 3 describes it.
struct Sidecar: Codable, Equatable {
    enum State: String, Codable {
        case settling, hashing, queued, uploading, verifying, waiting, paused
        case signedOut = "signed_out"
        case done, failed, cancelled, rejected

        var isFinal: Bool { [.done, .failed, .cancelled, .rejected].contains(self) }
    }

    struct Fragments: Codable, Equatable {
        var total: Int
        var finished: Int
    }

    struct Remote: Codable, Equatable {
        var `protocol`: String
        var id: String?
        var url: String?
    }

    struct Failure: Codable, Equatable {
        var code: String
        var message: String
        var retryable: Bool
    }

    var version: Int
    var path: String
    var path_bytes: String?
    var key: String?
    var state: State
    var kind: String?
    var type: String?
    var size: Int?
    var width: Int?
    var height: Int?
    var duration: Double?
    var fragments: Fragments?
    var progress: Double
    var remote: Remote?
    var deduplicated: Bool
    var attempts: Int
    var next_attempt_at: String?
    var error: Failure?
    var accepted_at: String?
    var started_at: String?
    var finished_at: String?
    var updated_at: String?

    /// The keys that stand in every sidecar, null where nothing is known.
    static let keys: Set<String> = [
        "version", "path", "key", "state", "kind", "type", "size", "width", "height", "duration", "fragments",
        "progress", "remote", "deduplicated", "attempts", "next_attempt_at", "error", "accepted_at", "started_at",
        "finished_at", "updated_at",
    ]

    /// The moment that a timestamp of the contract names; nil where it is not one.
    static func date(_ text: String?) -> Date? {
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        return text.flatMap { try? format.parse($0) }
    }
}
