/// Input of `PathBook`: a change of a path, or a request about it.
package enum PathEvent: Sendable {
    // MARK: From the watch

    /// A name appeared, or a writer closed the file.
    case seen(RelativePath)
    /// A regular file settled. `objection` says why its size forbids taking the file.
    case ready(RelativePath, FileIdentity, objection: FileError?)
    /// The name belongs to something other than a regular file, such as a link or a device.
    indirect case odd(RelativePath, FileIdentity, FileError)
    /// A file can't be read.
    case unreadable(RelativePath, FileIdentity?, FileError)
    /// A name is gone: a file, or a directory with everything below it.
    case gone(RelativePath)
    /// A file was renamed.
    case renamed(RelativePath, to: RelativePath)
    /// A full scan ended.
    case scanned(any ScanFindings)
    /// Records of the ledger, for a comparison with a full scan that ended before.
    case compared([DropRecord], with: any ScanFindings)
    /// A file system below the outbox is no longer mounted.
    case mountLost(RelativePath)
    /// A file system was mounted below the outbox. If it is a different one, the posts in `descriptions` are elsewhere.
    case mounted(RelativePath, isSame: Bool, descriptions: [RelativePath])
    /// The outbox is missing.
    case outboxLost
    /// The outbox is back, or was found at start. If the outbox is now another directory, all waiting paths are
    /// elsewhere, including the posts in `descriptions`.
    case outboxBack(isSame: Bool, descriptions: [RelativePath])

    // MARK: From the hash pool

    /// Progress: the number of bytes hashed of a large file.
    case hashing(RelativePath, job: UInt64, bytes: UInt64)
    /// The file can't be read because its file system does not answer, or can again.
    case stalled(RelativePath, job: UInt64, Bool)
    /// The file was hashed, and its product is being made. The result of the hash job follows.
    case processing(RelativePath, job: UInt64, ProcessingProgress)
    /// The result of a hash job. `as` is the identity the file had when the job began.
    indirect case hashed(RelativePath, job: UInt64, as: FileIdentity, HashFinding)
    /// A file was measured while it was hashed.
    case measured(RelativePath, FileIdentity, MediaFacts)

    // MARK: From users and from the rest of the agent

    /// A user acts on a path. `isByName`: on this path alone, not on everything.
    case act(UserAction, RelativePath, isByName: Bool)
    /// Retry a path in a final state, whoever owns it.
    case retry(RelativePath)
    /// Hash the file again, because it changed since its hash or needs another check.
    case lookAgain(RelativePath)
    /// A name is gone for longer than the grace, and posts know about it (`PathAction.confirmRemoval`).
    case removed(RelativePath)
    /// An unfinished path with only a sidecar left.
    case strayFound(RelativePath)
    /// Forget a path.
    case forget(RelativePath)
    /// A post gives a file up, whatever the file's state.
    case giveUp(RelativePath, FileError)
    /// A post asks whether the server still has the content of a confirmed file. The answer is a report of the path,
    /// also if there is nothing to ask.
    case verify(RelativePath)
    /// The `source.toml` of a post is missing. Its removal counts after the grace.
    case descriptionMissing(RelativePath)
    /// The `source.toml` of a post exists, again or still.
    case descriptionFound(RelativePath)
    /// The progress or outcome of a profile picture.
    case portrait(RelativePath, ContentKey, PortraitOutcome)
    /// A file is on its way out of the outbox.
    case retirement(RelativePath, RetirementEvent)
    /// A deadline may have passed.
    case tick
}

/// The result of hashing a file.
package enum HashFinding: Equatable, Sendable {
    /// The file stayed the same from the first byte to the last.
    case content(FileIdentity, MediaType, DropContent, digests: [UInt64])
    /// The file is rejected.
    indirect case rejected(FileIdentity, MediaType?, FileError)
    /// The file must not be uploaded as it is, and no product could be made.
    indirect case failed(FileIdentity, MediaType, Product, FileError)
    /// The file changed during the hash and must settle again.
    case changed
    /// The name is gone.
    case missing
    /// The file can't be opened or read.
    case unreadable(FileError)
}

/// The progress or outcome of a profile picture.
package enum PortraitOutcome: Sendable {
    /// The picture is being sent; only the sender knows its state.
    case handedOver
    /// The picture reached a final state.
    case ended(FileState, FileError?, attempts: Int, startedAt: WallTime?, finishedAt: WallTime?, url: String?)
}
