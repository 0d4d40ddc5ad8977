import URLs
public import UploadCore

extension FileSectionRemote: SourceRemote {
    /// `POST /source/commit.do`.
    public func commit(_ commit: SourceCommit) async throws(RemoteFailure) -> CommitOutcome {
        var judge = ReplyJudge(endpoint: "commit.do", subject: .knownIDs)
        let message = Messages.Commit(commit)
        let reply = try await post("/source/commit.do", message, &judge)
        let data = judge.optionalData(Messages.CommitReply.self, of: reply)
        if let latest = data?.revision, Messages.CommitReply.revisions.contains(latest), judge.code(of: reply) == 409 {
            return .taken(latest: max(latest, commit.revision))
        }
        try judge.accept(reply)
        if let digest = data?.listDigest, digest != message.listDigest { return .taken(latest: commit.revision) }
        // The server has accepted the post; without a usable URL the post has none, and another request would return
        // no other.
        guard let url = data?.url, WebURL.isAnswer(url) else { return .done(url: nil) }
        return .done(url: judge.hidingToken(url))
    }
}
