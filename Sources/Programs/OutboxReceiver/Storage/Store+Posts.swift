extension Store {
    /// The most posts of a user. Their texts are in memory.
    private static let mostPosts = 20_000

    /// The effect of a commit.
    enum CommitOutcome: String {
        /// The first commit of its source: the post is new.
        case created
        /// A later revision: the post now shows this revision.
        case updated
        /// The post already showed the same, with this revision or a later one.
        case unchanged
    }

    /// Records the commit, unless the source has the same list in this revision or a later one. Durable on return. Throws
    /// a ``Refusal`` if this revision or a later one has another list: the client has an old copy of its state.
    /// - Returns: The commit that the post's URL now shows, with the token of the source's first commit.
    func commit(_ commit: Commit) async throws -> (commit: Commit, outcome: CommitOutcome) {
        try checkSpace(for: commit.charge)
        let user = commit.source.user
        let result = try withBooks { books in
            let known = books.catalog.commit(commit.source)
            if let known, known.revision >= commit.revision {
                guard known.contents == commit.contents else { throw Refusal.otherRevision(known.revision) }
                return (known, CommitOutcome.unchanged)
            }
            guard known != nil || books.catalog.postCount(of: user) < Self.mostPosts else {
                throw Refusal.tooManyPosts
            }
            try checkQuota(of: user, for: commit.charge - (known?.charge ?? 0), books.catalog)
            var commit = commit
            if let known {
                commit.token = known.token
                commit.requests = (known.requests + commit.requests).suffix(Commit.mostRequests)
            }
            try books.journal.append([.committed(commit)])
            books.catalog.add(commit)
            return (commit, known == nil ? .created : .updated)
        }
        try await settle()
        return result
    }

    /// Returns the post's commit if this request was accepted before. Durable on return.
    func commit(of source: Commit.Source, repeatedAs request: Hex128) async throws -> Commit? {
        guard let known = withBooks({ $0.catalog.commit(source) }), known.requests.contains(request) else { return nil }
        try await settle()
        return known
    }

    /// Removes posts of the user. Their files stay. Durable on return.
    /// - Returns: The number of posts that existed.
    func removePosts(_ sourceIDs: [String], user: String) async throws -> Int {
        let sources = Set(sourceIDs).map { Commit.Source(user: user, id: $0) }
        let count = try withBooks { books in
            let tokens = sources.compactMap { books.catalog.commit($0)?.token }
            if !tokens.isEmpty { try books.journal.append(tokens.map { .removed($0) }) }
            for token in tokens { books.catalog.removePost(token) }
            return tokens.count
        }
        try await settle()
        return count
    }

    func commit(token: Hex128) -> Commit? {
        withBooks { $0.catalog.commits[token] }
    }

    /// Returns the commit's contents that still exist, the cover first.
    func contents(of commit: Commit) -> [Content] {
        let contents = commit.contents.compactMap { content(token: $0) }.filter { objects.holds($0) }
        return contents.filter { $0.token == commit.cover } + contents.filter { $0.token != commit.cover }
    }
}
