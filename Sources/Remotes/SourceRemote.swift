public import UploadCore

/// A server that makes posts of uploaded files. Of the protocols only fileSection has them, so it is asked for apart
/// from `Remote`.
public protocol SourceRemote: Sendable {
    /// Makes one revision of a source a post, once the server has all its files.
    ///
    /// The same commit leads to the very same request each time, and a server takes the same source and revision once,
    /// whatever became of earlier replies: so it may be sent again after any failure. It is about ids that the server
    /// gave out, so 404 and 410 tell that it forgot one of them. Cancelling the task gives the request up; the server
    /// may have taken the commit all the same.
    ///
    /// - Returns: the post's URL where the server gives one: http or https, at most 2048 bytes.
    /// - Throws: what kind of failure it was; never `.source`.
    func commit(_ commit: SourceCommit) async throws(RemoteFailure) -> String?
}
