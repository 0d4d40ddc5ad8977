import UploadCore

/// A picture dropped in the portrait folder, after it was hashed.
struct PortraitDrop: Equatable, Sendable {
    /// The file's path, relative to the outbox.
    var path: RelativePath
    /// MD5 of the file.
    var key: ContentKey
    /// The file that was hashed.
    var identity: FileIdentity
    /// The media type detected from the first bytes.
    var type: MediaType
    /// When the path was first seen.
    var acceptedAt: WallTime
    /// Whether the user paused the file.
    var isPaused = false

    /// Whether both values describe the same drop: same content, same file, same path. Other attributes may differ. A
    /// file that was written or touched again is another drop, even with the same bytes.
    func isSameDrop(as other: PortraitDrop) -> Bool {
        path == other.path && key == other.key && identity.isSameFile(as: other.identity)
    }
}

/// How to order a drop among other drops.
enum DropOrder: Equatable, Sendable {
    /// The drop arrived while the agent watched. Numbers count up in the order of the watch's events, not of hashing.
    /// Drops restored from an earlier run are older than all of them.
    case arrived(UInt64)
    /// A scan found the file, or the file was in progress when the agent ended. The files' ctime decides which of two
    /// such drops is newer.
    case found
}

/// The progress of a dropped picture, as its sidecar shows it.
struct PortraitReport: Equatable, Sendable {
    /// The file's path, relative to the outbox.
    var path: RelativePath
    /// MD5 of the file. The report is void if the path has another key by now.
    var key: ContentKey
    /// The file's state.
    var state: FileState
    /// The reason for the state.
    var error: FileError?
    /// Number of upload attempts begun.
    var attempts = 0
    /// When the next attempt is due, while `waiting` or `signed_out`.
    var nextAttemptAt: WallTime?
    /// The picture's URL, unchanged from the server's answer.
    var remoteURL: String?
    /// When the first upload attempt began.
    var startedAt: WallTime?
    /// When the drop reached a final state.
    var finishedAt: WallTime?
}

/// A change of the profile picture, for subscribers.
enum PortraitEvent: Equatable, Sendable {
    /// Another picture is shown and waits for its upload.
    case pending(RelativePath, ContentKey)
    /// The pending picture's state, reason or path changed.
    case changed(RelativePath, ContentKey, FileState)
    /// The server accepted the picture and assigned this URL.
    case done(RelativePath, ContentKey, url: String)
    /// The picture is no longer shown; the previous picture is back.
    case discarded(RelativePath, ContentKey, FileError)
}
