/// What the journal says, in memory: open uploads, finished contents, ids that are remembered, commits.
struct Catalog: Sendable {
    /// How long an upload that gets no blocks, and the id of a finished one, are remembered, in seconds.
    static let memory: Int64 = 7 * 24 * 3600

    struct FinishedID: Sendable {
        let user: String
        let content: Hex128
        let at: Int64
    }

    private(set) var uploads: [Hex128: Upload] = [:]
    private(set) var finished: [Hex128: FinishedID] = [:]
    /// By token.
    private(set) var contents: [Hex128: Content] = [:]
    /// The highest revision of each post, by token.
    private(set) var commits: [Hex128: Commit] = [:]
    private(set) var reservations = Reservations()
    var portraits = PortraitBook()
    /// Bytes of contents, by user.
    private var stored: [String: Int64] = [:]

    /// Entries that the journal holds already and that only count once the disk has them: the files of the batch that is
    /// being finished. A journal written anew meanwhile holds them too.
    var unconfirmed: [JournalEntry] = []

    /// One token for a key, but where different contents share an MD5.
    private var tokens: [ContentKey: [Hex128]] = [:]
    /// How many contents are an object.
    private var useCounts: [ObjectName: Int] = [:]
    private var commitTokens: [Commit.Source: Hex128] = [:]
    private var openCounts: [String: Int] = [:]
    private var openSizes: [String: Int64] = [:]

    func openCount(of user: String) -> Int { openCounts[user, default: 0] }

    /// Bytes of the user's contents and of the uploads that will be some.
    func usage(of user: String) -> Int64 { stored[user, default: 0] + openSizes[user, default: 0] }

    /// All contents of a user with this MD5 and size: one at most, unless somebody forged another.
    func contents(_ key: ContentKey) -> [Content] { tokens[key, default: []].compactMap { contents[$0] } }

    /// Whether some user's content is this object.
    func uses(_ object: ObjectName) -> Bool { useCounts[object] != nil }

    /// The highest revision of a source.
    func commit(_ source: Commit.Source) -> Commit? { commitTokens[source].flatMap { commits[$0] } }

    mutating func add(_ upload: Upload) {
        uploads[upload.id] = upload
        openCounts[upload.plan.user, default: 0] += 1
        openSizes[upload.plan.user, default: 0] += upload.plan.size
        reservations.promise(upload.plan.size, to: upload.id, of: upload.plan.user)
    }

    mutating func remove(_ upload: Upload) {
        guard uploads.removeValue(forKey: upload.id) != nil else { return }
        openCounts[upload.plan.user, default: 0] -= 1
        openSizes[upload.plan.user, default: 0] -= upload.plan.size
        reservations.release(upload.id)
    }

    /// So many bytes of the upload arrived; negative: were forgotten.
    mutating func received(_ count: Int64, of upload: Upload) { reservations.receive(count, for: upload.id) }

    mutating func lapse(_ id: Hex128) { reservations.lapse(id) }

    /// A content takes the place of the one with its token, and of the one that was the same object.
    mutating func add(_ content: Content) {
        var known = tokens[content.key, default: []]
        for token in known where token != content.token && contents[token]?.object == content.object {
            replace(token, by: nil)
            known.removeAll { $0 == token }
        }
        if !known.contains(content.token) { known.append(content.token) }
        tokens[content.key] = known
        replace(content.token, by: content)
    }

    private mutating func replace(_ token: Hex128, by content: Content?) {
        let old = contents[token]
        contents[token] = content
        if let old { stored[old.key.user, default: 0] -= old.key.size }
        if let content { stored[content.key.user, default: 0] += content.key.size }
        if let content { useCounts[content.object, default: 0] += 1 }
        guard let old, let count = useCounts[old.object] else { return }
        useCounts[old.object] = count > 1 ? count - 1 : nil
    }

    /// Counts what users have stored once more.
    /// - Parameter gone: Contents whose objects somebody removed.
    mutating func recount(without gone: Set<Hex128>) {
        stored = [:]
        for content in contents.values where !gone.contains(content.token) {
            stored[content.key.user, default: 0] += content.key.size
        }
    }

    mutating func add(_ id: Hex128, _ finishedID: FinishedID) { finished[id] = finishedID }

    mutating func forget(_ id: Hex128) { finished[id] = nil }

    /// An earlier revision than the one that is known changes nothing.
    mutating func add(_ commit: Commit) {
        if let known = self.commit(commit.source) {
            guard commit.revision > known.revision else { return }
            commits[known.token] = nil
        }
        commitTokens[commit.source] = commit.token
        commits[commit.token] = commit
    }

    mutating func forgetFinished(before time: Int64) {
        finished = finished.filter { $0.value.at >= time }
    }

    /// The system's clock was set forward by so many seconds.
    mutating func shiftFinished(by seconds: Int64) {
        finished = finished.mapValues { id in
            FinishedID(user: id.user, content: id.content, at: id.at + seconds)
        }
    }

    // MARK: As a journal

    /// The number of entries it takes to say all this.
    var entryCount: Int {
        contents.count + finished.count + commits.count + portraits.entries.count + unconfirmed.count
            + uploads.values.reduce(into: 0) { $0 += 1 + $1.arrivedCount }
    }

    func forEachEntry(_ body: (JournalEntry) -> Void) {
        for content in contents.values { body(.content(content)) }
        for (id, finished) in finished {
            body(.finished(id, user: finished.user, content: finished.content, at: finished.at))
        }
        for commit in commits.values { body(.committed(commit)) }
        for entry in portraits.entries { body(entry) }
        for upload in uploads.values {
            body(.opened(upload.id, upload.plan, at: upload.lastActivity))
            for index in upload.arrivedBlocks { body(.block(upload.id, index)) }
        }
        unconfirmed.forEach(body)
    }
}
