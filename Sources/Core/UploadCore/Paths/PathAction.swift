/// Output of `PathBook`. The caller makes all writes durable, together with those of the upload machine, before any
/// effect outside the agent.
package enum PathAction: Equatable, Sendable {
    /// Change the ledger.
    case write(LedgerWrite)
    /// Send an event to the upload machine. A post may hold a path even if the user did not pause it.
    case upload(MachineEvent)
    /// Report the new state of a path.
    case report(RelativePath)
    /// Report the new state of a path once all writes are durable.
    case reportWhenDurable(RelativePath)
    /// Tell observers of a path that the path is forgotten.
    case announceGone(RelativePath)
    /// Remove the sidecar of a path.
    case removeSidecar(RelativePath)
    /// Let the watch settle a path again.
    case settle(RelativePath)
    /// Hash a file.
    case hash(RelativePath, FileIdentity, job: UInt64)
    /// Record that a file was renamed.
    case renamed(RelativePath, to: RelativePath)
    /// Park a file until its account signs in.
    indirect case park(DropRecord, account: String)
    /// Record that a path left a content. Its thumbnail may be unused now.
    case releaseContent(ContentKey)
    /// Examine a file: its size and thumbnail may still be missing.
    case examine(RelativePath)
    /// Record the media facts of a content.
    case learned(ContentKey, MediaFacts, isExamined: Bool)
    /// Tell the post that a file is no longer listed.
    indirect case postLost(DropRecord)
    /// Tell the post that a file was renamed.
    indirect case postMoved(DropRecord, to: DropRecord)
    /// A name has been gone for longer than the grace. Tell posts before sending `PathEvent.removed`.
    case confirmRemoval(RelativePath)
    /// The ledger was lost, and its new records now include all information from sidecars.
    case recovered
    /// Carry out a step of a profile picture.
    case portrait(PortraitStep)
    /// Carry out a step of a file on its way out of the outbox.
    case retirement(RelativePath, RetirementStep)
    /// Tell the user why the request has no effect, or none yet.
    case refuse(String)
}

/// Instruction about a profile picture.
package enum PortraitStep: Equatable, Sendable {
    /// Send these pictures, newest first. `job` is the hash job of a picture that arrived while the agent watched; nil
    /// for pictures found by a scan.
    case handOver([DropRecord], job: UInt64?)
    /// The picture's file is gone or was replaced.
    case removed(RelativePath, ContentKey)
    case renamed(RelativePath, to: RelativePath)
    case setPaused(RelativePath, Bool)
    case cancelled(RelativePath, ContentKey)
    case retry(RelativePath)
    /// Drop the last report of the path: it is about another file.
    case forgetReport(RelativePath)
}
