/// What kind of failure a remote met. It says what happened; whether, when and how to try again is decided by
/// `UploadMachine` alone, because that must survive a restart.
public enum RemoteFailure: Error, Equatable, Sendable {
    /// Not the file's fault and likely to pass: no connection, a time-out, a reply that is not the protocol's, 5xx.
    ///
    /// - `retryAfter`: what the server asked for in `Retry-After`.
    /// - `outlook`: what it tells of when it may pass.
    case temporary(FileError, retryAfter: Duration? = nil, outlook: Outlook = .trouble)
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

/// What a temporary failure tells of when it may pass.
public enum Outlook: Equatable, Sendable {
    /// The server answered and is in trouble: pauses grow up to the ceiling of the backoff.
    case trouble
    /// The server did not answer: it was not reached, the connection broke, or something on the way answered in its
    /// place (a gateway with 502, 503 or 504, a captive portal). It may be back at any moment.
    case away
    /// Somebody must mend it (507, a wrong URL, another server's page): tried at the ceiling of the backoff only.
    case lasting
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
