/// Records the expected post of each source and judges the committed posts:
///
/// - **Lost**: a source that is not done, a missing post, or a file of the directory that is missing from its post.
/// - **Twice**: a second post of one source: under another id, with another payload, or with a revision equal to the
///   previous one.
/// - **Mixture**: a post with a content that is not in the directory.
package struct PostJudge {
    /// The keys of the files, by directory. The post's title is the directory's name.
    private var sources: [String: Set<String>] = [:]

    package init() {}

    /// Records that the directory must now become one post of these contents.
    package mutating func stands(_ keys: Set<String>, in directory: String) { sources[directory] = keys }

    /// Records that the directory is gone or a draft. The judge then expects no post.
    package mutating func removed(_ directory: String) { sources[directory] = nil }

    /// All sources with an expected post.
    package var directories: [String] { sources.keys.sorted() }

    /// Whether the sidecar says that the post contains exactly the current contents of the directory.
    package func isSettled(_ directory: String, _ sidecar: SourceSidecar?) -> Bool {
        guard let sidecar, sidecar.state == .done, sidecar.pending_changes.isEmpty else { return false }
        return sources[directory] == Set(sidecar.files.compactMap(\.key))
    }

    /// Judges all sources and posts.
    package func verdict(_ book: PostBook, sidecar: (String) throws -> SourceSidecar?) rethrows -> PostVerdict {
        var verdict = PostVerdict()
        verdict.twice = book.contradictions
        for (directory, keys) in sources.sorted(by: { $0.key < $1.key }) {
            guard let sidecar = try sidecar(directory) else {
                verdict.lost.append("\(directory): no sidecar")
                continue
            }
            judge(directory, keys, sidecar, book, &verdict)
        }
        return verdict
    }

    private func judge(
        _ directory: String, _ keys: Set<String>, _ sidecar: SourceSidecar, _ book: PostBook,
        _ verdict: inout PostVerdict
    ) {
        guard isSettled(directory, sidecar) else { return verdict.lost.append("\(directory): \(sidecar.brief)") }
        let others = book.posts.values.filter { $0.payload.title == directory && $0.payload.sourceId != sidecar.id }
        verdict.twice += others.map { "\(directory) is also a post of source \($0.payload.sourceId)" }
        let revisions = book.revisions(of: sidecar.id)
        for (earlier, later) in zip(revisions, revisions.dropFirst()) where earlier.saysTheSame(as: later) {
            verdict.twice.append(
                "\(directory): revisions \(earlier.payload.revision) and \(later.payload.revision) say the same")
        }
        // The sidecar alone is no proof: the post must exist.
        guard let last = revisions.last, last.payload.revision == sidecar.revision, last.url == sidecar.url else {
            let there = revisions.map { "\($0.payload.revision) at \($0.url)" }
            verdict.lost.append("\(directory): \(sidecar.brief), and the server has \(there)")
            return
        }
        let posted = Set(last.files.map(\.md5))
        verdict.lost += keys.subtracting(posted).sorted().map { "\(directory): \($0) is not in its post" }
        verdict.mixtures += posted.subtracting(keys).sorted().map { "\(directory): \($0) is in its post for no reason" }
    }
}

/// The faults that fail a trial of sources.
package struct PostVerdict: Equatable {
    package var lost: [String] = []
    package var twice: [String] = []
    package var mixtures: [String] = []

    package var isClean: Bool { details.isEmpty }

    /// `0 posts lost, 0 committed twice, 0 mixed`.
    package var summary: String {
        "\(lost.count) posts lost, \(twice.count) committed twice, \(mixtures.count) mixed"
    }

    /// One line per fault.
    package var details: [String] {
        lost.map { "post lost: \($0)" } + twice.map { "committed twice: \($0)" } + mixtures.map { "post mixed: \($0)" }
    }
}

extension PostBook.Post {
    /// Whether the two posts look the same to a reader.
    fileprivate func saysTheSame(as other: PostBook.Post) -> Bool {
        payload.title == other.payload.title && cover?.md5 == other.cover?.md5
            && Set(files.map(\.md5)) == Set(other.files.map(\.md5))
    }
}
