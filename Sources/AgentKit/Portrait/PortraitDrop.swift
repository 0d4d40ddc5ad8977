import UploadCore

/// A picture that was dropped in the portrait folder, once its content is known.
struct PortraitDrop: Equatable, Sendable {
    /// Where it is, relative to the outbox.
    var path: RelativePath
    /// MD5 of its bytes.
    var key: ContentKey
    /// The file the key was computed from.
    var identity: FileIdentity
    /// What its first bytes say it is.
    var type: MediaType
    /// When the path was first seen.
    var acceptedAt: WallTime
    /// Whether the user paused it.
    var isPaused = false

    /// Whether both are one drop: the same content in the same file under the same name, whatever became of its
    /// attributes. A file that was written or touched again is another drop, even if its bytes are the same.
    func isSameDrop(as other: PortraitDrop) -> Bool {
        path == other.path && key == other.key && identity.isSameFile(as: other.identity)
    }
}

/// What is known of when a picture was dropped.
enum DropOrder: Equatable, Sendable {
    /// While the agent watched. The number counts up in the order in which the watch told of the files, whichever of
    /// them was hashed first; what was kept of an earlier run is older than all of them.
    case arrived(UInt64)
    /// Some time ago: a scan found it, or it was under way when the agent ended. The kernel's time of its last change
    /// (ctime) tells which of two is newer.
    case found
}

/// How far a dropped picture is; what its sidecar shows.
struct PortraitReport: Equatable, Sendable {
    /// Where the file is, relative to the outbox.
    var path: RelativePath
    /// MD5 of its bytes; a report for a path whose key is another one by now is void.
    var key: ContentKey
    /// Where it stands.
    var state: FileState
    /// Why.
    var error: FileError?
    /// How many times it was begun to send it.
    var attempts = 0
    /// When the next attempt is due, while `waiting` or `signed_out`.
    var nextAttemptAt: WallTime?
    /// The URL that the server gave it, as it came.
    var remoteURL: String?
    /// When it was begun to send it for the first time.
    var startedAt: WallTime?
    /// When it reached a final state.
    var finishedAt: WallTime?
}

/// What happens to the profile picture, for those who follow it.
enum PortraitEvent: Equatable, Sendable {
    /// Another picture is shown, and waits to be sent.
    case pending(RelativePath, ContentKey)
    /// Something else is to be said of the pending one: where it stands, why, or what it is called.
    case changed(RelativePath, ContentKey, FileState)
    /// The server took it and gave it this URL.
    case done(RelativePath, ContentKey, url: String)
    /// It is not shown any more; the picture before it is back.
    case discarded(RelativePath, ContentKey, FileError)
}
