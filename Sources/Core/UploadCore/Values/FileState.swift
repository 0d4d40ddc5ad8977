/// The state of one path, as in its sidecar.
public enum FileState: String, CaseIterable, Sendable {
    /// Seen, but still being written or not quiet yet.
    case settling
    /// The MD5 is being computed.
    case hashing
    /// What is uploaded in place of the file's bytes is being made.
    case processing
    /// Waiting for a slot.
    case queued
    /// Sending fragments.
    case uploading
    /// All fragments are sent; the server is assembling the content.
    case verifying
    /// A temporary error occurred; the next attempt is scheduled.
    case waiting
    /// Paused by the user.
    case paused
    /// Credentials are missing or refused; progress is kept.
    case signedOut = "signed_out"
    /// The server confirmed the content.
    case done
    /// The server refused for good, or the file cannot be read.
    case failed
    /// Cancelled by the user, superseded, or the file was removed before it was done.
    case cancelled
    /// Not accepted for upload.
    case rejected

    /// Whether nothing more happens to the path without a person.
    public var isFinal: Bool {
        switch self {
        case .done, .failed, .cancelled, .rejected: true
        case .settling, .hashing, .processing, .queued, .uploading, .verifying, .waiting, .paused, .signedOut: false
        }
    }
}

/// An error of a path, for people and for programs.
public struct FileError: Error, Hashable, Sendable {
    /// A short snake_case word, listed in docs/errors.md.
    public var code: String
    /// What failed and why, in one line.
    public var message: String
    /// Whether the agent retries by itself.
    public var retryable: Bool

    /// Creates an error.
    public init(code: String, message: String, retryable: Bool) {
        self.code = code
        self.message = message
        self.retryable = retryable
    }
}

extension FileError {
    /// The error of a file that vanished before its upload was done.
    static var removed: FileError {
        FileError(code: "removed", message: "the file was removed before it was uploaded", retryable: false)
    }

    /// The error of a file that can't be read.
    ///
    /// - Parameters:
    ///   - reason: the error of the system call.
    ///   - remedy: what the user can do.
    ///   - isPassing: whether the agent tries again by itself.
    package static func unreadable(
        _ name: String, _ reason: String, _ remedy: String, isPassing: Bool
    ) -> FileError {
        FileError(code: "unreadable", message: "\(name) can't be read: \(reason); \(remedy)", retryable: isPassing)
    }

    /// Whether the server refused the credentials, or nobody is signed in.
    package var isSignedOut: Bool { code == "signed_out" }

    /// The error of a failed file that the user wants to hear no more of.
    package static var dismissed: FileError {
        FileError(code: "dismissed", message: "it failed, and the user dismissed it", retryable: false)
    }

    /// The error of a file that the user cancelled.
    package static var cancelledByUser: FileError {
        FileError(code: "cancelled", message: "cancelled by the user", retryable: false)
    }
}
