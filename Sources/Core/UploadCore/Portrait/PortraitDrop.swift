/// A picture dropped in the portrait folder, after it was hashed.
package struct PortraitDrop: Equatable, Sendable {
    /// The file's path, relative to the outbox.
    package var path: RelativePath
    /// MD5 of the file.
    package var key: ContentKey
    /// The file that was hashed.
    package var identity: FileIdentity
    /// The media type detected from the first bytes.
    package var type: MediaType
    /// When the path was first seen.
    package var acceptedAt: WallTime
    /// Whether the user paused the file.
    package var isPaused: Bool

    /// Describes a hashed file of the portrait folder.
    package init(
        path: RelativePath, key: ContentKey, identity: FileIdentity, type: MediaType, acceptedAt: WallTime,
        isPaused: Bool = false
    ) {
        self.path = path
        self.key = key
        self.identity = identity
        self.type = type
        self.acceptedAt = acceptedAt
        self.isPaused = isPaused
    }

    /// Whether both values describe the same drop: same content, same file, same path. Other attributes may differ. A
    /// file that was written or touched again is another drop, even with the same bytes.
    func isSameDrop(as other: PortraitDrop) -> Bool {
        path == other.path && key == other.key && identity.isSameFile(as: other.identity)
    }
}

/// How to order a drop among other drops.
package enum DropOrder: Equatable, Sendable {
    /// The drop arrived while the agent watched. Numbers count up in the order of the watch's events, not of hashing.
    /// Drops restored from an earlier run are older than all of them.
    case arrived(UInt64)
    /// A scan found the file, or the file was in progress when the agent ended. The files' ctime decides which of two
    /// such drops is newer.
    case found
}

/// The progress of a dropped picture, as its sidecar shows it.
package struct PortraitReport: Equatable, Sendable {
    /// The file's path, relative to the outbox.
    package var path: RelativePath
    /// MD5 of the file. The report is void if the path has another key by now.
    package var key: ContentKey
    /// The file's state.
    package var state: FileState
    /// The reason for the state.
    package var error: FileError?
    /// Number of upload attempts begun.
    package var attempts = 0
    /// When the next attempt is due, while `waiting` or `signed_out`.
    package var nextAttemptAt: WallTime?
    /// The picture's URL, unchanged from the server's answer.
    package var remoteURL: String?
    /// When the first upload attempt began.
    package var startedAt: WallTime?
    /// When the drop reached a final state.
    package var finishedAt: WallTime?
}

/// A change of the profile picture, for subscribers.
package enum PortraitEvent: Equatable, Sendable {
    /// Another picture is shown and waits for its upload.
    case pending(RelativePath, ContentKey)
    /// The pending picture's state, reason or path changed.
    case changed(RelativePath, ContentKey, FileState)
    /// The server accepted the picture and assigned this URL.
    case done(RelativePath, ContentKey, url: String)
    /// The picture is no longer shown; the previous picture is back.
    case discarded(RelativePath, ContentKey, FileError)
}
