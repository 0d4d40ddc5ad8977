import Ledger
import UploadCore

/// Input of `AgentCore`: news, or a wish.
enum AgentEvent: Sendable {
    /// An event of the path book.
    case path(PathEvent)
    /// An event of the posts.
    case posts(PostsEvent)
    /// Events of the upload machine, which handles them together.
    case uploads([MachineEvent])
    /// An event of the queue of products.
    case products(ProductQueue.Event)
    /// A deadline may have passed.
    case tick

    // MARK: Files

    /// The record of a file changed, and the change is durable. The file's post does not know yet.
    case tellPost(of: RelativePath)
    /// A fragment of a content is being sent.
    case sending(ContentKey)
    /// Files of these posts were reported.
    case progressed(Set<RelativePath>)
    /// The files of all posts were reported.
    case allProgressed
    /// The files of a confirmed post may leave the outbox.
    case retireFiles(RelativePath)
    /// Retry files that could not be moved out of the outbox.
    case retireStuck
    /// More is known of a picture or video. `isAll`: nothing is left to find out.
    case learned(MediaFacts, ContentKey, isAll: Bool)
    /// A full scan of the present outbox ended. Files of a former outbox may be among its findings.
    case scanFound(any ScanFindings)
    /// Hash the files again that wait for one of these contents, if the ledger has no upload of it.
    case startOver([ContentKey])
    /// Compare the paths of the ledger with a full scan, page by page.
    case compare(any ScanFindings, from: DropPosition)

    // MARK: Everything

    /// The agent starts. The outbox may be another one than in the last run.
    case recogniseOutbox
    /// The user pauses or resumes everything.
    case setAllPaused(Bool)
    /// An account signed in. It takes files and posts that arrived while nobody was signed in. `isOther`: the last run
    /// worked for another account.
    case signedIn(isOther: Bool)
    /// Change the ledger.
    case store([LedgerWrite])
}
