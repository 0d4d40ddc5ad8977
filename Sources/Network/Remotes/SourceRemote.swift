public import UploadCore

/// A server that makes posts of uploaded files. Not every protocol supports posts (tus does not), so this one is separate
/// from `Remote`.
public protocol SourceRemote: Sendable {
    /// Commits one revision of a source as a post, once the server has all its files.
    ///
    /// Idempotent: the same commit always produces the same request, and a server accepts each source and revision
    /// once, even if earlier replies were lost. So the commit may be sent again after any failure. The request
    /// contains ids from the server, so 404 and 410 mean that the server forgot an id. Cancelling the task aborts the
    /// request, but the server may already have accepted the commit.
    ///
    /// - Returns: `done` with the post's URL if the server gives one: http or https, at most 2048 bytes; `taken` if the
    ///   server has other files under this revision.
    /// - Throws: the kind of failure; never `.source`.
    func commit(_ commit: SourceCommit) async throws(RemoteFailure) -> CommitOutcome
}
