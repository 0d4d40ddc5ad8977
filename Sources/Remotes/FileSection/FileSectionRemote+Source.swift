import URLs
public import UploadCore

extension FileSectionRemote: SourceRemote {
    /// `POST /source/commit.do`.
    public func commit(_ commit: SourceCommit) async throws(RemoteFailure) -> String? {
        var judge = ReplyJudge(endpoint: "commit.do", subject: .knownIDs)
        let reply = try await post("/source/commit.do", Messages.Commit(commit), &judge)
        try judge.accept(reply)
        // The server has accepted the post; without a usable URL the post has none, and another request would return
        // no other.
        guard let url = judge.optionalData(Messages.CommitReply.self, of: reply)?.url, WebURL.isAnswer(url) else {
            return nil
        }
        return judge.hidingToken(url)
    }
}
