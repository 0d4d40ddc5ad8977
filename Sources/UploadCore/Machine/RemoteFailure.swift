/// What kind of failure a remote met. It says what happened; whether, when and how to try again is decided by
/// `UploadMachine` alone, because that must survive a restart.
public enum RemoteFailure: Error, Equatable, Sendable {
    /// Not the file's fault and likely to pass: no connection, a time-out, a reply that is not the protocol's, 5xx.
    ///
    /// - `retryAfter`: what the server asked for in `Retry-After`.
    /// - `slow`: try again at the ceiling of the backoff only (507, a wrong URL).
    case temporary(FileError, retryAfter: Duration? = nil, slow: Bool = false)
    /// The credentials are missing, refused or expired.
    case signedOut(FileError)
    /// The server does not know an id that it gave out: the upload must be registered again.
    case forgotten
    /// The server refused this upload for good.
    case permanent(FileError)
    /// The bytes to be sent could not be had.
    case source(SourceProblem)
    /// The request was given up on purpose.
    case cancelled
}

/// Why the bytes of a fragment could not be had from the path they were to be read from.
public struct SourceProblem: Error, Equatable, Sendable {
    /// What is the matter with the file.
    public enum Kind: Equatable, Sendable {
        /// The bytes are no longer the ones that were hashed.
        case changed
        /// The name is gone; it may come back, with its directory or file system.
        case missing
        /// The file can't be read, and waiting will not help.
        case unreadable(FileError)
    }

    /// The path that was read.
    public var path: RelativePath
    /// What is the matter with it.
    public var kind: Kind

    /// Puts a problem together.
    public init(path: RelativePath, kind: Kind) {
        self.path = path
        self.kind = kind
    }
}
