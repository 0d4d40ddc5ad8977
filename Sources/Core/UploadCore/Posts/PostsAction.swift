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
