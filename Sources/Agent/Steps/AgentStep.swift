import Logging
import UploadCore

/// What a part of the agent asks of the coordinator. The parts decide, with facts in and steps out; `Uploader` performs
/// the steps in order.
enum AgentStep: Sendable {
    /// Pass an event to the path book.
    case path(PathEvent)
    /// Pass an event to the posts.
    case posts(PostsEvent)
    /// Pass events to the upload machine.
    case uploads([MachineEvent])
    /// Pass an event to the portrait service.
    case portrait(PortraitMachine.Event)
    /// Report a problem, or its end (`nil`).
    case problem(AgentStatus.Problem, String?)
    /// Log a line.
    case log(Logger.Level, String, [String: String])

    // MARK: Signing in and out

    /// Give files and posts that arrived while nobody was signed in to the present account.
    case takeOverNobodys
    /// Watch for new credentials, because the old ones are refused or missing.
    case watchForToken
    case stopWatchingForToken

    // MARK: After a scan

    /// Search for thumbnails of contents that no path holds.
    case sweepThumbnails
    /// Look for paths of a former outbox in the findings of a full scan.
    case searchElsewhere(any ScanFindings)
    /// Retry files that could not be moved out of the outbox.
    case retireStuck
    /// Do the work that follows each full scan of a present outbox.
    case endScan

    // MARK: After the return of the outbox

    /// Let go of the former outbox: another directory took its place.
    case leaveOutbox
    /// Log how many paths are in the former outbox.
    case countElsewhere
    /// Put back files from the holding area.
    case recoverHeldFiles
}
