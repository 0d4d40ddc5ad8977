/// The kind of failure that a remote met. Only `UploadMachine` decides whether, when and how to retry, because these
/// decisions must survive a restart.
public enum RemoteFailure: Error, Equatable, Sendable {
    /// Not the file's fault and likely to pass: no connection, a time-out, a reply outside the protocol, 5xx.
    ///
    /// - `retryAfter`: the server's `Retry-After`.
    /// - `outlook`: when the failure may pass.
    case temporary(FileError, retryAfter: Duration? = nil, outlook: Outlook = .trouble)
    /// The server has another part of this upload than the request assumes (tus: 409 to a PATCH, or an offset below the
    /// length of a complete upload): ask where the upload stands. Says nothing about other uploads.
    case outOfStep(FileError)
    /// The server can't work on this upload at the moment, for instance because an earlier request holds its lock (tus:
    /// 423): this upload waits. Says nothing about other uploads.
    ///
    /// - `retryAfter`: the server's `Retry-After`.
    case busyUpload(FileError, retryAfter: Duration? = nil)
    /// The credentials are missing, refused or expired.
    case signedOut(FileError)
    /// The server does not know an id that it issued: register the upload again.
    case forgotten
    /// The server refused this upload for good.
    case permanent(FileError)
    /// The bytes to send are unavailable.
    case source(SourceProblem)
    /// The request was cancelled on purpose.
    case cancelled
}

extension RemoteFailure {
    /// The outlook of a temporary failure; nil for another one.
    var outlook: Outlook? { if case .temporary(_, _, let outlook) = self { outlook } else { nil } }

    /// Whether a temporary failure is an answer that may be about the content of the request alone.
    package var mayBeAboutContent: Bool {
        guard case .temporary(_, let retryAfter, let outlook) = self else { return false }
        return outlook.mayBeAboutContent && Backoff.requested(retryAfter) == nil
    }
}

/// When a temporary failure may pass, and whom it may concern.
public enum Outlook: Equatable, Sendable {
    /// The server answered and is in trouble: pauses grow up to the ceiling of the backoff.
    case trouble
    /// The server asks for fewer requests (429). Concerns every upload, even if it answers others.
    case busy
    /// The server did not answer: it was unreachable, or the connection broke. It may be back at any moment.
    case away
    /// An intermediary answered in place of the server: a gateway with 502, 503 or 504, a captive portal. The server may
    /// be back at any moment.
    case gateway
    /// The server did not answer a question about one upload in time. If it answers others meanwhile, an earlier request of
    /// this upload keeps it busy (tus: a HEAD behind a stalled PATCH). Otherwise like `away`.
    case silent
    /// Somebody must fix the cause (507, a wrong URL, another server's page): this upload retries only at the ceiling of
    /// the backoff. Other uploads are tried earlier, because the cause may be in this one.
    case lasting

    /// Whether the server may be back at any moment.
    var isAbsence: Bool {
        switch self {
        case .away, .gateway, .silent: true
        case .trouble, .busy, .lasting: false
        }
    }

    /// Whether an answer came, and may be about the content of the request alone.
    var mayBeAboutContent: Bool {
        switch self {
        case .trouble, .gateway, .lasting: true
        case .busy, .away, .silent: false
        }
    }
}

/// Why the bytes of a fragment could not be read from a path.
public struct SourceProblem: Error, Equatable, Sendable {
    /// The kind of problem.
    public enum Kind: Equatable, Sendable {
        /// The bytes differ from the hashed bytes.
        case changed
        /// The name is gone. It may come back with its directory or file system.
        case missing
        /// The file can't be read. If the error is retryable, waiting may help.
        case unreadable(FileError)
    }

    /// The path that was read.
    public var path: RelativePath
    /// The kind of problem with the file.
    public var kind: Kind

    /// Creates a problem.
    public init(path: RelativePath, kind: Kind) {
        self.path = path
        self.kind = kind
    }
}
