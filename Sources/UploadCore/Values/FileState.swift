/// The state of one path, as its sidecar shows it.
public enum FileState: String, CaseIterable, Sendable {
    /// Seen, still being written or not quiet yet.
    case settling
    /// The MD5 is being computed.
    case hashing
    /// Waiting for a slot.
    case queued
    /// Fragments are on their way.
    case uploading
    /// All fragments sent, the server is assembling.
    case verifying
    /// A temporary error; the next attempt is planned.
    case waiting
    /// Paused by the user.
    case paused
    /// Credentials missing or refused; progress is kept.
    case signedOut = "signed_out"
    /// The server confirmed the content.
    case done
    /// The server refused for good, or the file cannot be read.
    case failed
    /// Cancelled by the user, superseded, or the file was removed before it was done.
    case cancelled
    /// Not taken at all.
    case rejected

    /// Whether nothing more happens to the path unless a person acts.
    public var isFinal: Bool {
        switch self {
        case .done, .failed, .cancelled, .rejected: true
        case .settling, .hashing, .queued, .uploading, .verifying, .waiting, .paused, .signedOut: false
        }
    }
}

/// What went wrong with a path, for people and for programs.
public struct FileError: Error, Hashable, Sendable {
    /// A short snake_case word, listed in docs/errors.md.
    public var code: String
    /// What failed and why, one line.
    public var message: String
    /// Whether the agent tries again by itself.
    public var retryable: Bool

    /// Describes an error.
    public init(code: String, message: String, retryable: Bool) {
        self.code = code
        self.message = message
        self.retryable = retryable
    }
}
