extension Store {
    /// What became of a commit.
    enum CommitOutcome: String {
        /// The first of its source: there is a post now.
        case created
        /// A later revision: the post shows it from now on.
        case updated
        /// This revision, or a later one, is known already.
        case unchanged
    }

    /// Records the commit, unless its revision or a later one of its source is known. On the disk itself when this
    /// returns.
    /// - Returns: What stands under the post's URL now. Its token is that of the source's first commit.
    func commit(_ commit: Commit) async throws -> (commit: Commit, outcome: CommitOutcome) {
        let result = try withBooks { books in
            let known = books.catalog.commit(commit.source)
            if let known, known.revision >= commit.revision { return (known, CommitOutcome.unchanged) }
            var commit = commit
            if let known { commit.token = known.token }
            try books.journal.append([.committed(commit)])
            books.catalog.add(commit)
            return (commit, known == nil ? .created : .updated)
        }
        try await settle()
        return result
    }

    /// What is known of the source, if that is this revision or a later one; on the disk itself.
    func commit(of source: Commit.Source, from revision: Int) async throws -> Commit? {
        guard let known = withBooks({ $0.catalog.commit(source) }), known.revision >= revision else { return nil }
        try await settle()
        return known
    }

    func commit(token: Hex128) -> Commit? {
        withBooks { $0.catalog.commits[token] }
    }

    /// The commit's contents that are still there, the cover first.
    func contents(of commit: Commit) -> [Content] {
        let contents = commit.contents.compactMap { content(token: $0) }.filter { objects.holds($0) }
        return contents.filter { $0.token == commit.cover } + contents.filter { $0.token != commit.cover }
    }
}
