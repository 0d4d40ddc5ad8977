/// What `PathBook` wants done. Whoever carries it out makes all writes durable, together with what the upload machine
/// decides, before anything outside the agent happens.
package enum PathAction: Equatable, Sendable {
    /// The ledger is to change.
    case write(LedgerWrite)
    /// The upload machine is to know. A path that the user did not pause may be held by its post all the same.
    case upload(MachineEvent)
    /// There is something new to tell of a path.
    case report(RelativePath)
    /// The same, once all writes are durable.
    case reportWhenDurable(RelativePath)
    /// A path is known no more: those who follow it are to know.
    case announceGone(RelativePath)
    /// The sidecar of a path is to go.
    case removeSidecar(RelativePath)
    /// The watch is to let a path settle again.
    case settle(RelativePath)
    /// A file is to be hashed.
    case hash(RelativePath, FileIdentity, job: UInt64)
    /// A file got another name.
    case renamed(RelativePath, to: RelativePath)
    /// A file waits for an account that is not signed in.
    case park(DropRecord, account: String)
    /// A path has left a content: nobody may need its thumbnail any more.
    case releaseContent(ContentKey)
    /// A file's size and thumbnail may still be to be had.
    case examine(RelativePath)
    /// The size of a content is known.
    case learned(ContentKey, MediaFacts, isExamined: Bool)
    /// A file of a post is no longer listed.
    case postLost(DropRecord)
    /// A file of a post got another name.
    case postMoved(DropRecord, to: DropRecord)
    /// A name has been gone for longer than the grace. Posts are to know before `PathEvent.removed`.
    case confirmRemoval(RelativePath)
    /// The ledger was lost, and all that sidecars tell of it is known again.
    case recovered
    /// A profile picture.
    case portrait(PortraitStep)
    /// Nothing was done that the user wanted, and why.
    case refuse(String)
}

/// What is to be done about a profile picture.
package enum PortraitStep: Equatable, Sendable {
    /// These are to be sent, the newest first. `job`: the number of its hash where it came while the agent watched; nil
    /// where a scan found it.
    case handOver([DropRecord], job: UInt64?)
    /// Its file is gone, or is another one.
    case removed(RelativePath, ContentKey)
    case renamed(RelativePath, to: RelativePath)
    case setPaused(RelativePath, Bool)
    case cancelled(RelativePath, ContentKey)
    case retry(RelativePath)
    /// What was told of it last is of another file.
    case forgetReport(RelativePath)
}
