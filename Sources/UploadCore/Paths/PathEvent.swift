/// Something that happened to a path, or that somebody wants of it.
package enum PathEvent: Sendable {
    // MARK: From the watch

    /// A name appeared, or a writer closed the file.
    case seen(RelativePath)
    /// A regular file is at rest. `objection`: why it is not taken, as far as its size tells.
    case ready(RelativePath, FileIdentity, objection: FileError?)
    /// Something is there that is not taken for what it is: a link, a device.
    case odd(RelativePath, FileIdentity, FileError)
    /// A file can't be read.
    case unreadable(RelativePath, FileIdentity?, FileError)
    /// A name is gone: a file, or a directory with everything below it.
    case gone(RelativePath)
    /// A file got another name.
    case renamed(RelativePath, to: RelativePath)
    /// A full scan ended.
    case scanned(any ScanFindings)
    /// A file system below the outbox is away.
    case mountLost(RelativePath)
    /// A file system is mounted below the outbox. If it is not the same, `posts` are descriptions of posts that are elsewhere.
    case mounted(RelativePath, isSame: Bool, descriptions: [RelativePath])
    /// The outbox is away.
    case outboxLost
    /// The outbox is back, or was there at start. If it is another directory, all that waits is elsewhere, the
    /// descriptions of posts among it.
    case outboxBack(isSame: Bool, descriptions: [RelativePath])

    // MARK: From the hash pool

    /// So many bytes of a large file are hashed.
    case hashing(RelativePath, job: UInt64, bytes: UInt64)
    /// A file was hashed that was to be hashed as this one.
    case hashed(RelativePath, job: UInt64, as: FileIdentity, HashFinding)
    /// A file was measured while it was hashed.
    case measured(RelativePath, FileIdentity, MediaFacts)

    // MARK: From users and from the rest of the agent

    /// A user wants something of a path. `isByName`: of that path alone, not of everything.
    case act(FileAction, RelativePath, isByName: Bool)
    /// A path that ended is to be taken again, whoever owns it.
    case retry(RelativePath)
    /// The file is not the one that was hashed, or is to be looked at once more.
    case lookAgain(RelativePath)
    /// A name is gone for longer than the grace, and everybody who had to know before knows (`PathAction.confirmRemoval`).
    case removed(RelativePath)
    /// A path that only its sidecar tells of; it was never done.
    case strayFound(RelativePath)
    /// Nothing need be known of a path any more.
    case forget(RelativePath)
    /// What becomes of a profile picture.
    case portrait(RelativePath, ContentKey, PortraitOutcome)
    /// Time has passed.
    case tick
}

/// What hashing a file found.
package enum HashFinding: Sendable {
    /// It stood still from the first byte to the last.
    case content(FileIdentity, MediaType, DropContent, digests: [UInt64])
    /// It is not taken.
    case rejected(FileIdentity, MediaType?, FileError)
    /// It changed while it was read; it must settle again.
    case changed
    /// The name is gone.
    case missing
    /// It can't be opened or read.
    case unreadable(FileError)
}

/// What became of a profile picture.
package enum PortraitOutcome: Sendable {
    /// It is on its way: only who sends it knows more.
    case handedOver
    /// It is in a final state.
    case ended(FileState, FileError?, attempts: Int, startedAt: WallTime?, finishedAt: WallTime?, url: String?)
}

/// What a user can do about files.
public enum FileAction: String, CaseIterable, Sendable {
    /// Stop sending, keep what was sent, and stay so over restarts.
    case pause
    /// Go on after a pause.
    case resume
    /// Give up for good, and delete what the server has of it.
    case cancel
    /// Try again now: what waits for its next attempt, what failed, what was cancelled.
    case retry
    /// Go to the head of the queue.
    case first
}
