/// Input of `Posts`: a change in the outbox, a decision of the path book, or a request about a post.
package enum PostsEvent: Sendable {
    // MARK: From the watch

    /// A name appeared, or a writer closed the file.
    case seen(RelativePath)
    /// A regular file settled.
    case ready(RelativePath, FileIdentity)
    /// A name belongs to something other than a regular file, or can't be read.
    case odd(RelativePath)
    /// A name is gone: a file, or a directory with everything below it.
    case gone(RelativePath)
    /// A file or a directory was renamed.
    case renamed(RelativePath, to: RelativePath, isDirectory: Bool)
    /// A full scan ended.
    case scanned(any ScanFindings)
    /// The outbox is missing.
    case outboxLost
    /// The outbox is back, or was found at start. If the outbox is now another directory, its posts may be copies.
    case outboxBack(isSame: Bool)
    /// `source.toml` was read: the answer to `PostsAction.readDescription`.
    indirect case read(RelativePath, Result<SourceDescription, FileError>)

    // MARK: From the path book

    /// The path book is about to accept a file, rename it or act on it. The file may be in a post that the watch has
    /// not reported yet.
    case expected(RelativePath)
    /// The path book changed the record of a file.
    indirect case changed(DropRecord)
    /// The path book no longer lists a file.
    indirect case lost(DropRecord)
    /// A file was renamed.
    indirect case moved(DropRecord, to: DropRecord)
    /// A name is gone for longer than the grace (`PathAction.confirmRemoval`).
    case missing(RelativePath)

    // MARK: From users and from the rest of the agent

    /// The agent starts: the ledger has all files.
    case started
    /// A user acts on one post.
    case wish(UserAction, RelativePath)
    /// A user acts on all files and posts.
    case actOnAll(UserAction)
    /// An account signed in. It takes the posts that arrived while nobody was signed in.
    case signedIn(String)
    /// The upload machine ended the commit of a revision.
    case commitEnded(id: String, revision: Int, CommitOutcome)
    /// The description of a confirmed post left the outbox: the answer to `PostsAction.retire`.
    case retired(RelativePath)
    /// A deadline may have passed.
    case tick
}

/// Output of `Posts`. The caller passes the path events to the path book, and makes all writes durable in one commit with
/// those that follow from the events, before any effect outside the agent.
package enum PostsAction: Sendable {
    /// Change the ledger.
    case write(LedgerWrite)
    /// Send an event to the path book.
    case path(PathEvent)
    /// Send an event to the upload machine, after those of the path book.
    case upload(MachineEvent)
    /// Read the `source.toml` of a directory and answer with `PostsEvent.read`.
    case readDescription(RelativePath)
    /// Let the watch settle a path again.
    case settle(RelativePath)
    /// Report a file whose report depends on its post.
    case reportFile(RelativePath)
    /// Report a post.
    case report(RelativePath)
    /// Report a post, and files whose reports depend on it, once all writes are durable.
    case reportWhenDurable(RelativePath, files: [RelativePath])
    /// Tell observers that a post is forgotten.
    case announceGone(id: String, RelativePath)
    /// Remove the sidecar of a post.
    case removeSidecar(RelativePath)
    /// The files of a confirmed post may leave the outbox once all writes are durable.
    case retireFiles(RelativePath)
    /// All files of a confirmed post left the outbox. Move or delete its `source.toml`, then send `PostsEvent.retired`.
    case retire(RelativePath)
    /// Tell the user why the request has no effect.
    case refuse(String)
}
