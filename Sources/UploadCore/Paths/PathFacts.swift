/// What `PathBook` asks while it handles an event: the disk, the ledger and the uploads, as they are at that moment.
package protocol PathFacts: Sendable {
    /// What stands under a path.
    func look(at path: RelativePath) -> FileLook
    /// What the ledger holds of a path, or is about to hold.
    func storedRecord(of path: RelativePath) -> DropRecord?
    /// What the ledger holds, or is about to hold, of a directory and everything below it, in no particular order.
    func forEachStoredRecord(within directory: RelativePath, _ body: (DropRecord) -> Void)
    /// The server's word that it has a content.
    func confirmation(of key: ContentKey) -> Confirmation?
    /// What the ledger holds, or is about to hold, of one of the paths that have a content.
    func anyStoredRecord(of key: ContentKey) -> DropRecord?
    /// What a sidecar tells that the user wanted of a path. Asked only after the ledger was lost.
    func sidecarWish(of path: RelativePath) -> SidecarWish?
    /// The paths that wait for the upload of a content, in no particular order; empty where there is no such upload.
    func waiters(of key: ContentKey) -> [RelativePath]
    /// Whether there is an upload of a content.
    func hasUpload(of key: ContentKey) -> Bool
    /// Whether a path waits for the upload of a content.
    func isWaiting(_ path: RelativePath, for key: ContentKey) -> Bool
    /// Whether the user has paused everything.
    var isAllPaused: Bool { get }
    /// Whether nobody is signed in.
    var isSignedOut: Bool { get }
}

/// What stands under a path.
package enum FileLook: Equatable, Sendable {
    /// What kind of thing it is.
    package enum Kind: Equatable, Sendable {
        case regular, directory, other
    }

    /// Something does.
    case there(Kind, FileIdentity)
    /// Nothing does.
    case nothing
    /// Nobody can tell: the directory can't be read, or the outbox is away.
    case unknown

    /// The file, or whatever it is; nil where nothing is there, or nobody can tell.
    package var identity: FileIdentity? {
        if case .there(_, let identity) = self { identity } else { nil }
    }

    /// Whether no file bears the name any more. A directory in its place is another thing.
    package var isGone: Bool {
        switch self {
        case .there(let kind, _): kind == .directory
        case .nothing: true
        case .unknown: false
        }
    }
}

/// What a sidecar tells of the user's wishes.
package enum SidecarWish: Equatable, Sendable {
    /// The file was cancelled when it had this size, where that was known. The sidecar was written at `written`,
    /// nanoseconds since 1970.
    case cancelled(size: UInt64?, written: Int64)
    case paused
}

/// What a full scan found.
package protocol ScanFindings: Sendable {
    /// Whether a file was there at some time during the scan, or nobody can tell.
    func contains(_ path: RelativePath) -> Bool
    /// Whether a file was there at some time during the scan.
    func found(_ path: RelativePath) -> Bool
    /// Whether the scan saw everything: each directory could be listed, each file system was there.
    var isWhole: Bool { get }
}
