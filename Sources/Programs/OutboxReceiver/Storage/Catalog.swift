/// The journal's contents in memory: open uploads, finished contents, remembered ids, commits.
struct Catalog: Sendable {
    /// How long, in seconds, the server remembers an upload without new blocks and the id of a finished upload.
    static let memory: Int64 = 7 * 24 * 3600
    /// How many ids of finished uploads of a user the server remembers, the latest ones. A few more may be left.
    static let mostFinished = 20_000
    private static let spareFinished = 5000

    struct FinishedID: Sendable {
        let user: String
        let content: Hex128
        let at: Int64
    }

    private(set) var uploads: [Hex128: Upload] = [:]
    private(set) var finished: [Hex128: FinishedID] = [:]
    /// The contents, by token.
    private(set) var contents: [Hex128: Content] = [:]
    /// The highest revision of each post, by token.
    private(set) var commits: [Hex128: Commit] = [:]
    private(set) var reservations = Reservations()
    var portraits = PortraitBook()
    /// The charge for the bytes of all contents, by user.
    private var stored: [String: Int64] = [:]

    /// Entries of the current batch: already in the journal, but only valid once the disk has them. A journal
    /// rewritten meanwhile contains them too.
    var unconfirmed: [JournalEntry] = []

    /// The tokens by key: one each, unless different contents share an MD5.
    private var tokens: [ContentKey: [Hex128]] = [:]
    /// The number of contents that use each object.
    private var useCounts: [ObjectName: Int] = [:]
    private var commitTokens: [Commit.Source: Hex128] = [:]
    /// The contents of each user by the time of their arrival. A content that was replaced by its twin stays listed.
    private var arrivals: [String: Timeline<Int64>] = [:]
    /// The posts of each user by their date.
    private var posts: [String: Timeline<String>] = [:]
    private var openCounts: [String: Int] = [:]
    private var openCharges: [String: Int64] = [:]
    private var postCharges: [String: Int64] = [:]
    private var finishedCounts: [String: Int] = [:]

    func openCount(of user: String) -> Int { openCounts[user, default: 0] }

    /// Returns what the user's contents, open uploads, posts and portraits count for.
    func charge(of user: String) -> Int64 {
        stored[user, default: 0] + openCharges[user, default: 0] + postCharges[user, default: 0]
            + portraits.charge(of: user)
    }

    /// All users with finished or unfinished files.
    var users: Set<String> { Set(stored.keys).union(openCharges.keys) }

    func postCount(of user: String) -> Int { posts[user]?.count ?? 0 }

    func fileCount(of user: String) -> Int { arrivals[user]?.count ?? 0 }

    /// Returns all contents of a user with this MD5 and size: at most one, unless another was forged.
    func contents(_ key: ContentKey) -> [Content] { tokens[key, default: []].compactMap { contents[$0] } }

    /// Whether any content uses this object.
    func uses(_ object: ObjectName) -> Bool { useCounts[object] != nil }

    /// Returns the highest known revision of a source.
    func commit(_ source: Commit.Source) -> Commit? { commitTokens[source].flatMap { commits[$0] } }

    mutating func add(_ upload: Upload) {
        uploads[upload.id] = upload
        openCounts[upload.plan.user, default: 0] += 1
        openCharges[upload.plan.user, default: 0] += upload.charge
        reservations.promise(upload.plan.size, to: upload.id, of: upload.plan.user)
    }

    mutating func remove(_ upload: Upload) {
        guard uploads.removeValue(forKey: upload.id) != nil else { return }
        openCounts[upload.plan.user, default: 0] -= 1
        openCharges[upload.plan.user, default: 0] -= upload.charge
        reservations.release(upload.id)
    }

    /// Counts received bytes of an upload; a negative count means forgotten bytes.
    mutating func received(_ count: Int64, of upload: Upload) { reservations.receive(count, for: upload.id) }

    mutating func lapse(_ id: Hex128) { reservations.lapse(id) }

    /// Adds a content. Replaces the content with the same token, and any other content with the same key and object.
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

    /// Returns the content as the catalog has it now, with the paths of `content` as well.
    func merged(_ content: Content) -> Content {
        guard var known = contents[content.token], known != content else { return content }
        _ = known.add(paths: content.paths.all)
        return known
    }

    private mutating func replace(_ token: Hex128, by content: Content?) {
        let old = contents[token]
        contents[token] = content
        if let old { stored[old.key.user, default: 0] -= old.charge }
        if let content { stored[content.key.user, default: 0] += content.charge }
        if let content, old == nil { arrivals[content.key.user, default: Timeline()].add(token, at: content.at ?? 0) }
        if let content { useCounts[content.object, default: 0] += 1 }
        guard let old, let count = useCounts[old.object] else { return }
        useCounts[old.object] = count > 1 ? count - 1 : nil
    }

    /// Dates contents that an older version stored without a time, as far as their ids are remembered, and sorts all
    /// contents. For the start only: the contents of a journal come in no order.
    mutating func dateContents() {
        for id in finished.values where contents[id.content]?.at == nil { contents[id.content]?.at = id.at }
        arrivals = [:]
        for content in contents.values {
            arrivals[content.key.user, default: Timeline()].add(content.token, at: content.at ?? 0)
        }
        for user in arrivals.keys { arrivals[user]?.sort() }
    }

    /// Returns the tokens of the user's contents, the latest first, and the number of all of them.
    mutating func arrivals(of user: String, before position: Int?, count: Int) -> (Timeline<Int64>.Page, total: Int) {
        let page = arrivals[user, default: Timeline()].page(before: position, count: count)
        return (page, arrivals[user]?.count ?? 0)
    }

    /// Returns the tokens of the user's posts, the latest first, and the number of all of them.
    mutating func posts(of user: String, before position: Int?, count: Int) -> (Timeline<String>.Page, total: Int) {
        let page = posts[user, default: Timeline()].page(before: position, count: count)
        return (page, posts[user]?.count ?? 0)
    }

    /// Recounts the bytes stored per user.
    /// - Parameter gone: The contents whose objects somebody removed.
    mutating func recount(without gone: Set<Hex128>) {
        stored = [:]
        for content in contents.values where !gone.contains(content.token) {
            stored[content.key.user, default: 0] += content.charge
        }
    }

    mutating func add(_ id: Hex128, _ finishedID: FinishedID) {
        forget(id)
        finished[id] = finishedID
        finishedCounts[finishedID.user, default: 0] += 1
        forgetOldest(of: finishedID.user)
    }

    mutating func forget(_ id: Hex128) {
        guard let former = finished.removeValue(forKey: id) else { return }
        finishedCounts[former.user, default: 0] -= 1
    }

    private mutating func forgetOldest(of user: String) {
        guard finishedCounts[user, default: 0] > Self.mostFinished + Self.spareFinished else { return }
        let own = finished.filter { $0.value.user == user }.sorted { $0.value.at > $1.value.at }
        for (id, _) in own.dropFirst(Self.mostFinished) { forget(id) }
    }

    /// Adds a commit. Ignores a revision that is not higher than the known one.
    mutating func add(_ commit: Commit) {
        if let known = self.commit(commit.source) {
            guard commit.revision > known.revision else { return }
            removePost(known.token)
        }
        postCharges[commit.source.user, default: 0] += commit.charge
        posts[commit.source.user, default: Timeline()].add(commit.token, at: commit.createDate)
        commitTokens[commit.source] = commit.token
        commits[commit.token] = commit
    }

    mutating func removePost(_ token: Hex128) {
        guard let commit = commits.removeValue(forKey: token) else { return }
        commitTokens[commit.source] = nil
        posts[commit.source.user]?.remove(token)
        postCharges[commit.source.user, default: 0] -= commit.charge
    }

    mutating func forgetFinished(before time: Int64) {
        for (id, former) in finished where former.at < time { forget(id) }
    }

    /// Corrects the times of finished ids after the system's clock was set.
    mutating func correctTimes(after jump: ClockWatch.Jump) {
        finished = finished.mapValues { id in
            FinishedID(user: id.user, content: id.content, at: jump.corrected(id.at))
        }
    }

    // MARK: Journal entries

    /// The number of journal entries for the whole catalog.
    var entryCount: Int {
        contents.count + finished.count + commits.count + portraits.entries.count + unconfirmed.count
            + uploads.values.reduce(into: 0) { $0 += 1 + $1.arrivedCount }
    }

    func forEachEntry<Failure: Error>(_ body: (JournalEntry) throws(Failure) -> Void) throws(Failure) {
        for content in contents.values { try body(.content(content)) }
        for (id, finished) in finished {
            try body(.finished(id, user: finished.user, content: finished.content, at: finished.at))
        }
        for commit in commits.values { try body(.committed(commit)) }
        for entry in portraits.entries { try body(entry) }
        for upload in uploads.values {
            try body(.opened(upload.id, upload.plan, at: upload.lastActivity))
            for index in upload.arrivedBlocks { try body(.block(upload.id, index)) }
        }
        for entry in unconfirmed { try body(entry) }
    }
}
