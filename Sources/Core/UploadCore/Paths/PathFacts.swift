/// What `PathBook` may ask while handling an event: the present state of the disk, the ledger and the uploads.
package protocol PathFacts {
    /// Looks at the file with this path.
    func look(at path: RelativePath) -> FileLook
    /// Whether directories list the path in this very spelling; true if unknown. A file system that ignores case finds a
    /// file under other spellings, too.
    func isListed(_ path: RelativePath) -> Bool
    /// Returns the ledger's record of a path, including pending changes.
    func storedRecord(of path: RelativePath) -> DropRecord?
    /// Calls `body` with each record of the ledger at or below a directory, including pending changes, in no particular
    /// order.
    func forEachStoredRecord(within directory: RelativePath, _ body: (DropRecord) -> Void)
    /// Calls `body` with each record of the ledger that the agent must know from its start, including pending changes,
    /// in no particular order.
    func forEachRecordNeededAtStart(_ body: (DropRecord) -> Void)
    /// Returns the server's confirmation of a content.
    func confirmation(of key: ContentKey) -> Confirmation?
    /// Returns whether `storedRecord` of a path and, if a key is given, `confirmation` of that content can be answered.
    /// If not, `nil` from them does not mean that nothing is known.
    func canAnswer(about path: RelativePath, _ key: ContentKey?) -> Bool
    /// Returns the ledger's record of any path that has this content, including pending changes.
    func anyStoredRecord(of key: ContentKey) -> DropRecord?
    /// Returns the ledger's records of paths that have this content, including pending changes, in no particular order;
    /// not all if more are stored.
    func storedRecords(of key: ContentKey, atMost count: Int) -> [DropRecord]
    /// Returns the user's wish as the path's sidecar states it. Called only after the ledger was lost.
    func sidecarWish(of path: RelativePath) -> SidecarWish?
    /// Whether uploads exist that the upload machine does not hold, because only the ledger does.
    var hasBacklog: Bool { get }
    /// Whether the upload machine holds the upload of a content.
    func isHeld(_ key: ContentKey) -> Bool
    /// Returns the paths that wait for the upload of a content, in no particular order; empty if no such upload exists.
    func waiters(of key: ContentKey) -> [RelativePath]
    /// Whether an upload of the content exists, be it in the backlog.
    func hasUpload(of key: ContentKey) -> Bool
    /// Whether the path waits for the upload of the content.
    func isWaiting(_ path: RelativePath, for key: ContentKey) -> Bool
    /// Whether the user paused everything.
    var isAllPaused: Bool { get }
    /// Whether nobody is signed in.
    var isSignedOut: Bool { get }
}

/// The result of looking at a path.
package enum FileLook: Equatable, Sendable {
    /// The kind of file.
    package enum Kind: Equatable, Sendable {
        case regular, directory, other
    }

    /// The path exists.
    case there(Kind, FileIdentity)
    /// The path does not exist.
    case nothing
    /// Unknown: the directory can't be read, or the outbox is missing.
    case unknown

    /// The identity of the file; nil if the path is missing or unknown.
    package var identity: FileIdentity? {
        if case .there(_, let identity) = self { identity } else { nil }
    }

    /// Whether no file has this name any more. A directory of the same name is not the file.
    package var isGone: Bool {
        switch self {
        case .there(let kind, _): kind == .directory
        case .nothing: true
        case .unknown: false
        }
    }
}

/// A user's wish as stated in a sidecar.
package enum SidecarWish: Equatable, Sendable {
    /// The user cancelled the file, which had this size if known. `written` is the time the sidecar was written, in
    /// nanoseconds since 1970.
    case cancelled(size: UInt64?, written: Int64)
    case paused
}

/// The findings of a full scan.
package protocol ScanFindings: Sendable {
    /// Whether a file existed at some time during the scan, or may have.
    func contains(_ path: RelativePath) -> Bool
    /// Whether a file certainly existed at some time during the scan.
    func found(_ path: RelativePath) -> Bool
    /// Whether the scan was complete: it listed every directory, and every file system was mounted.
    var isWhole: Bool { get }
    /// The number of files found that the ledger knew as they are: their content, or why they are not uploaded.
    var knownCount: Int { get }
}
