import Ledger
import Logging
import Reports
import Sidecars
import UploadCore

/// What `AgentCore` or another part of the agent decided. `StepRunner` performs it, and `Uploader` keeps the order.
enum AgentStep: Sendable {
    /// Pass an event to the core.
    case handle(AgentEvent)
    /// Pass an event to the core after all queued work.
    case handleLater(AgentEvent)
    /// Report a problem, or its end (`nil`).
    case problem(AgentStatus.Problem, String?)
    /// Record whether the watch defers new files.
    case deferring(Bool)
    /// Log a line.
    indirect case log(Logger.Level, String, [String: String])
    /// Report that the ledger can't be read.
    case ledgerFailed(LedgerError)
    /// Commit nothing. This detects a damaged ledger even if nothing is written for hours.
    case checkLedger

    // MARK: Reports

    /// Report the state of files. Ignores unknown paths.
    case report([RelativePath])
    /// Make the reports that a burst delayed.
    case reportDelayed
    /// Report the files that wait for these uploads.
    case reportUploads(Set<ContentKey>)
    /// Report the files that wait for any upload.
    case reportAllUploads
    /// Report a post.
    case reportPost(RelativePath)
    /// Bring the sidecars of all posts in line with the ledger.
    case reportPosts
    /// Write the sidecars of files that are back.
    case reportReturned
    /// Tell observers that a path is forgotten.
    case announceGone(RelativePath)
    /// Tell observers that a post is forgotten.
    case announcePostGone(id: String, RelativePath)
    /// Remove the sidecar of a path.
    case removeSidecar(RelativePath)
    /// Remove the sidecar of a post.
    case removePostSidecar(RelativePath)
    /// Write the missing sidecars of files at rest.
    case checkSidecars([RelativePath])
    /// Remove a stray.
    indirect case discard(StraySidecar)
    /// Count the outcome of a path's upload, and the bytes of its file.
    case count(DropOutcome, bytes: UInt64)
    /// Report soon the post whose commit has this id: the commit's visible state changed.
    case reportCommit(ofPost: String)
    /// Log the end of a post's commit, and tell the post.
    indirect case endCommit(ofPost: String, revision: Int, CommitOutcome)

    // MARK: Requests

    /// Begin or cancel a request.
    case request(MachineAction)
    /// Forget the files and figures of an upload, unless the machine holds an upload of this content again.
    case endUpload(ContentKey)
    /// A path's bytes no longer match its key: close the file, and hash it again.
    case takeAgain(RelativePath, ContentKey)

    // MARK: Files

    /// Let the watch settle a path again.
    case settle(RelativePath)
    /// Hash a file.
    case hash(RelativePath, FileIdentity, job: UInt64)
    /// Record that a file was renamed; `key` is its content, if known.
    case renamed(RelativePath, to: RelativePath, ContentKey?)
    /// Read the `source.toml` of a directory.
    case readDescription(RelativePath)
    /// Begin to make a product.
    indirect case makeProduct(ProductQueue.Job)
    /// Stop making a product.
    case stopMaking(id: UInt64)
    /// Remove a stored product, unless an upload needs it.
    case releaseProduct(ContentKey)
    /// Queue the content of a file for examination.
    case examine(RelativePath)
    /// Remove the thumbnail of a content unless a path holds the content.
    case releaseThumbnail(ContentKey)

    // MARK: Profile pictures

    /// Pass an event to the portrait service.
    indirect case tellPortraits(PortraitMachine.Event)
    /// Bring the reports of profile pictures in line with a decision.
    case preparePortrait(PortraitStep)
    /// Pass a decision about a profile picture to the service.
    case performPortrait(PortraitStep)
    /// Pass on what concerns all requests.
    case passToPortraits(MachineEvent)

    // MARK: Signing in and out

    /// Watch for new credentials, because the old ones are refused or missing.
    case watchForToken
    case stopWatchingForToken

    // MARK: Leaving the outbox

    /// Begin to move or delete a confirmed file, unless something still needs it.
    case retire(RelativePath)
    /// Carry out a step of a file on its way out of the outbox.
    case retirement(RelativePath, RetirementStep)
    /// Move or delete the `source.toml` of a confirmed post.
    case retirePost(RelativePath)
    /// Have the sidecar of a post follow its `source.toml` into a directory; `nil` if the `source.toml` was deleted.
    indirect case moveSidecar(RelativePath, to: RelativePath?, SourceReport?)
    /// Put back files from the holding area.
    case recoverHeldFiles

    // MARK: After the start, a scan, or the return of the outbox

    /// Make up for what the end of the last run prevented.
    case catchUp

    /// Remove stored products that nothing needs.
    case sweepProducts
    /// Search for thumbnails of contents that no path holds.
    case sweepThumbnails
    /// Search for sidecars that belong to no path.
    case searchStrays
    /// Remove old rows of the journal, a page at a time.
    case trimJournal
    /// End a notice that a scan ends.
    case forgetNotice
    /// Let go of the former outbox: another directory took its place.
    case leaveOutbox
}

extension AgentStep {
    /// Pass an event to the path book.
    static func path(_ event: PathEvent) -> AgentStep { .handle(.path(event)) }
    /// Pass an event to the posts.
    static func posts(_ event: PostsEvent) -> AgentStep { .handle(.posts(event)) }
    /// Pass events to the upload machine.
    static func uploads(_ events: [MachineEvent]) -> AgentStep { .handle(.uploads(events)) }

    /// What follows from the examination of pictures and videos.
    init(_ step: Thumbnails.Step) {
        switch step {
        case .learned(let facts, let key, let isAll): self = .handle(.learned(facts, key, isAll: isAll))
        case .retire(let path): self = .retire(path)
        case .failed(let error): self = .ledgerFailed(error)
        }
    }

    /// What follows from the search for strays.
    init(_ step: StraySearch.Step) {
        switch step {
        case .cancelRemoved(let path): self = .path(.strayFound(path))
        case .discard(let stray): self = .discard(stray)
        case .checkSidecars(let paths): self = .checkSidecars(paths)
        case .write(let write): self = .handle(.store([write]))
        }
    }
}
