import Transport
public import UploadCore

extension FileSectionRemote: SourceRemote {
    /// `POST /source/commit.do`.
    public func commit(_ commit: SourceCommit) async throws(RemoteFailure) -> String? {
        let judge = judge(of: "commit.do", about: .knownIDs)
        let reply = try await post("/source/commit.do", Messages.Commit(commit), judge)
        try judge.accept(reply)
        // The post is made; without a usable address it has none to show, and asking again would bring no other.
        guard let url = judge.optionalData(Messages.CommitReply.self, of: reply)?.url, WebURL.isOne(url) else {
            return nil
        }
        return judge.hidingToken(url)
    }
}
