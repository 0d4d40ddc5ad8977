@testable import UploadCore

/// A disk, a ledger, a hash pool, a server and a watch around a path book and posts: all in memory, all controlled by the
/// test. `PathStage+Posts` has the part of the posts.
struct PathStage {
    /// Pending news from the watch.
    enum News {
        case appeared(RelativePath)
        case settled(RelativePath)
        case gone(RelativePath)
        case renamed(RelativePath, RelativePath, isDirectory: Bool)
    }

    struct File: Equatable {
        var identity: FileIdentity
        var content: UInt64
    }

    struct HashWork {
        var path: RelativePath
        var identity: FileIdentity
        var job: UInt64
    }

    var book: PathBook
    var posts: Posts
    var now = Now(
        monotonic: MonotonicTime(nanoseconds: 1_000_000_000_000), wall: WallTime(milliseconds: 1_700_000_000_000))
    var files: [RelativePath: File] = [:]
    /// Paths that lead to a file only because the file system ignores case.
    var otherSpellings: Set<RelativePath> = []
    var ledger: [RelativePath: DropRecord] = [:]
    /// The server's confirmations, by account.
    var confirmations: [String: [ContentKey: Confirmation]] = [:]
    /// The waiters of each upload, and whether each is paused.
    var waiters: [ContentKey: [RelativePath: Bool]] = [:]
    /// How many unpaused uploads the upload machine holds.
    let window: Int
    /// The uploads that only the ledger holds.
    var backlog: Set<ContentKey> = []
    var parked: [RelativePath: String] = [:]
    var news: [News] = []
    var hashes: [HashWork] = []
    var account = "anna"
    /// The time at which the watch last reported a missing name as gone.
    var goneSince: [RelativePath: MonotonicTime] = [:]
    /// The inodes of files that the user cancelled at rest and nobody changed since.
    var cancelled: Set<UInt64> = []
    /// The inodes of the directories.
    var directories: [RelativePath: UInt64] = [:]
    var postLedger: [String: SourceRecord] = [:]
    /// The commits on their way to the server, by post.
    var commits: [String: SourceCommit] = [:]
    var server = PostStageServer()
    let postIDs = PostIDs()
    /// Changed files whose posts learn of it once the change is durable.
    var untold: [RelativePath] = []
    /// Whether posts learn of durable changes only by `tellPosts`.
    var isLedgerSlow = false
    /// Every action of posts since the test emptied this list.
    var postActions: [PostsAction] = []
    /// The first violated condition, if any.
    var problem: String?
    /// Every action of the last event.
    var actions: [PathAction] = []
    /// The last events and the actions on them, for the report of a failed walk.
    private var past: [(event: any Sendable, actions: any Sendable)] = []
    var history: [String] { past.map { "\($0.event) -> \($0.actions)" } }
    private var lastInode: UInt64 = 0

    /// What happens to files after their upload.
    private let fate: Retirement.Fate

    init(account: String = "anna", fate: Retirement.Fate = .stay, window: Int = 1_000) {
        self.account = account
        self.fate = fate
        self.window = window
        (book, posts) = Self.makeValues(account, fate)
    }

    private static func makeValues(_ account: String, _ fate: Retirement.Fate) -> (PathBook, Posts) {
        let rules = PathBook.Rules(portraitFolder: "profile", fate: fate, retention: .seconds(3600))
        var book = PathBook(rules: rules)
        var posts = Posts(rules: Posts.Rules(paths: rules, scope: RemoteScope("test")))
        book.ownership = Ownership(present: account)
        posts.ownership = book.ownership
        return (book, posts)
    }

    var facts: PathStageFacts {
        PathStageFacts(
            files: files, directories: directories, ledger: ledger, confirmations: confirmations[account] ?? [:],
            waiters: waiters, backlog: backlog, otherSpellings: otherSpellings)
    }

    /// Whether the watch has passed on all events of the kernel.
    var hasHeardAll: Bool { news.allSatisfy { if case .settled = $0 { true } else { false } } }

    func record(_ path: RelativePath) -> DropRecord? { book.drops[path] ?? ledger[path] }

    /// The paths in no final state, sorted.
    var underWay: [RelativePath] {
        let stored = ledger.filter { book.drops[$0.key] == nil && !$0.value.state.isFinal }.keys
        return Set(book.drops.keys).union(stored).sorted()
    }

    static func key(_ content: UInt64) -> ContentKey { ContentKey(high: content, low: 0) }

    // MARK: The disk

    private mutating func stamp() -> Int64 {
        now.monotonic = now.monotonic + .milliseconds(20)
        now.wall = now.wall.advanced(by: .milliseconds(20))
        // No multiple of a clock tick: the file system has fine-grained times.
        return now.wall.milliseconds * 1_000_000 + 1
    }

    /// Creates or overwrites a file.
    mutating func write(_ path: RelativePath, _ content: UInt64, inPlace: Bool = true) {
        let time = stamp()
        if inPlace, var file = files[path] {
            file.identity.modified = time
            file.identity.changed = time
            file.content = content
            files[path] = file
        } else {
            lastInode += 1
            let identity = FileIdentity(
                device: 1, inode: lastInode, size: UInt64(FragmentPlan.sectionSize), modified: time, changed: time,
                born: time)
            files[path] = File(identity: identity, content: content)
            makeDirectories(above: path)
        }
        news += [.appeared(path), .settled(path)]
    }

    private mutating func makeDirectories(above path: RelativePath) {
        var directory = path.parent
        while directory != .root, directories[directory] == nil {
            lastInode += 1
            directories[directory] = lastInode
            directory = directory.parent
        }
    }

    mutating func remove(_ path: RelativePath) {
        files[path] = nil
        news.append(.gone(path))
    }

    /// Removes a directory with everything below it.
    mutating func remove(directory: RelativePath) {
        for path in files.keys where path.isWithin(directory) { files[path] = nil }
        for path in directories.keys where path.isWithin(directory) { directories[path] = nil }
        news.append(.gone(directory))
    }

    mutating func rename(_ old: RelativePath, to new: RelativePath) {
        guard var file = files.removeValue(forKey: old) else { return }
        file.identity.changed = stamp()
        files[new] = file
        makeDirectories(above: new)
        news.append(.renamed(old, new, isDirectory: false))
    }

    mutating func rename(directory old: RelativePath, to new: RelativePath) {
        for path in files.keys.filter({ $0.isWithin(old) }) {
            if let target = path.moved(from: old, to: new) { files[target] = files.removeValue(forKey: path) }
        }
        for path in directories.keys.filter({ $0.isWithin(new) }) { directories[path] = nil }
        for path in directories.keys.filter({ $0.isWithin(old) }) {
            if let target = path.moved(from: old, to: new) {
                directories[target] = directories.removeValue(forKey: path)
            }
        }
        news.append(.renamed(old, new, isDirectory: true))
    }

    // MARK: What happens to the agent

    mutating func pass(_ duration: Duration) {
        now.monotonic = now.monotonic + duration
        now.wall = now.wall.advanced(by: duration)
    }

    /// Passes on the next news of the watch. Events of the kernel come first, because a file settles only after a
    /// quiet while.
    mutating func tellNext() {
        if news.isEmpty { return }
        let fromKernel = news.firstIndex { if case .settled = $0 { false } else { true } }
        switch news.remove(at: fromKernel ?? 0) {
        case .appeared(let path):
            if files[path] != nil, !tellPosts(.seen(path), about: path) { handle(.seen(path)) }
        case .settled(let path): tell(path)
        case .gone(let path): if files[path] == nil { tell(path) }
        case .renamed(let old, let new, let isDirectory):
            if tellPosts(.renamed(old, to: new, isDirectory: isDirectory), about: new), !isDirectory { break }
            let paths = isDirectory ? book.paths(within: old, facts: facts) : [old]
            for path in paths {
                guard let target = path.moved(from: old, to: new) else { continue }
                handle(posts: .expected(target))
                handle(.renamed(path, to: target))
            }
            for path in files.keys.sorted() where path.isWithin(new) { tellUnlessKnown(path) }
        }
    }

    private mutating func tell(_ path: RelativePath) {
        if let file = files[path] {
            goneSince[path] = nil
            if tellPosts(.ready(path, file.identity), about: path) { return }
            if book.mayFollow { handle(posts: .expected(path)) }
            handle(.ready(path, file.identity, objection: nil))
        } else {
            for known in Set(book.drops.keys).union(ledger.keys) where known.isWithin(path) && files[known] == nil {
                goneSince[known] = goneSince[known] ?? now.monotonic
            }
            if tellPosts(.gone(path), about: path) { return }
            handle(.gone(path))
        }
    }

    private mutating func tellUnlessKnown(_ path: RelativePath) {
        guard let file = files[path] else { return }
        if ledger[path]?.isJudged(for: file.identity) == true, book.drops[path] == nil {
            goneSince[path] = nil
            return
        }
        tell(path)
    }

    /// Runs a full scan, which makes up for lost news.
    mutating func scan() {
        news = []
        for path in files.keys.sorted() { tellUnlessKnown(path) }
        let findings = PathFindings(paths: Set(files.keys))
        book.findElsewhere(findings, facts: facts, isPost: posts.descriptions.contains)
        for path in Set(ledger.keys).union(book.drops.keys) where files[path] == nil {
            goneSince[path] = goneSince[path] ?? now.monotonic
        }
        handle(.scanned(findings))
        handle(posts: .scanned(findings))
        handle(.compared(ledger.values.sorted { $0.path < $1.path }, with: findings))
    }

    mutating func hash(_ index: Int = 0) {
        guard hashes.indices.contains(index) else { return }
        let work = hashes.remove(at: index)
        handle(posts: .expected(work.path))
        handle(.hashed(work.path, job: work.job, as: work.identity, finding(work)))
    }

    private func finding(_ work: HashWork) -> HashFinding {
        guard let file = files[work.path] else { return .missing }
        guard work.identity.isSameFile(as: file.identity) else { return .changed }
        let content = DropContent(
            key: Self.key(file.content), seal: ContentSeal(size: file.identity.size, digest: file.content))
        return .content(file.identity, MediaType(kind: .image, mime: "image/jpeg"), content, digests: [1])
    }

    /// Confirms a content with an unpaused waiter.
    mutating func confirm(_ key: ContentKey) {
        guard let paths = waiters[key], paths.values.contains(false) else { return }
        bringIn(key)
        waiters[key] = nil
        let remote = RemoteObject(id: server.id(of: key, account), url: nil)
        confirmations[account, default: [:]][key] = Confirmation(
            key: key, seal: ContentSeal(size: UInt64(FragmentPlan.sectionSize), digest: key.high),
            scope: RemoteScope("test"), remote: remote, confirmedAt: now.wall)
        for path in paths.keys.sorted() {
            guard let record = record(path), record.key == key else {
                problem = problem ?? "\(path) waits for \(key.high), and its record does not"
                continue
            }
            apply(book.end(record, .done(remote, deduplicated: false), attempts: 1, at: now.wall))
            tellPosts(whenDurable: path)
        }
    }

    /// Has the server refuse a content with an unpaused waiter.
    mutating func fail(_ key: ContentKey) {
        guard let paths = waiters[key], paths.values.contains(false) else { return }
        bringIn(key)
        waiters[key] = nil
        let error = FileError(code: "refused", message: "refused", retryable: false)
        for path in paths.keys.sorted() {
            guard let record = record(path), record.key == key else { continue }
            apply(book.end(record, .failed(error), attempts: 1, at: now.wall))
            tellPosts(whenDurable: path)
        }
    }

    mutating func tick() {
        handle(.tick)
        handle(posts: .tick)
    }

    @discardableResult
    mutating func act(_ action: UserAction, on path: RelativePath) -> String? {
        handle(posts: .expected(path))
        handle(.act(action, path, isByName: true))
        for case .refuse(let reason) in actions { return reason }
        return nil
    }

    /// Kills and restarts the agent, optionally with another account. Pending news of the watch is lost.
    mutating func restart(as account: String? = nil) {
        self.account = account ?? self.account
        (book, posts) = Self.makeValues(self.account, fate)
        restorePosts()
        hashes = []
        news = []
        goneSince = [:]
        parked = [:]
        var restored: [ContentKey: [RelativePath: Bool]] = [:]
        for (path, record) in ledger.sorted(by: { $0.key < $1.key }) {
            switch book.restore(record, isOtherServer: false, judgesAgain: false) {
            case .waits(let waiter):
                restored[record.key ?? Self.key(0), default: [:]][path] = waiter.paused || posts.holds(record)
            case .parked(let account): parked[path] = account
            case .forgotten: ledger[path] = nil
            case .underWay, .ended, .startsOver: break
            }
        }
        waiters = restored
        backlog = Set(restored.keys)
        for (key, paths) in restored where !paths.values.contains(false) { bringIn(key) }
        for event in posts.gatherAll() { apply(event) }
        handle(posts: .started)
        scan()
    }

    // MARK: Carrying out

    mutating func handle(_ event: PathEvent) {
        let actions = book.handle(event, now: now, facts: facts)
        note(event, actions)
        apply(actions)
        conclude(actions)
        self.actions = actions
    }

    mutating func note(_ event: any Sendable, _ actions: any Sendable) {
        if past.count >= 40 { past.removeFirst(20) }
        past.append((event, actions))
    }

    /// Makes the changes of one commit.
    mutating func apply(_ actions: [PathAction]) {
        for case .write(let write) in actions { apply(write) }
        for action in actions {
            switch action {
            case .upload(let event): apply(posts.held(event) { record($0) })
            case .park(let record, let account): parked[record.path] = account
            case .retirement(_, .commit(let writes)), .retirement(_, .store(let writes)):
                for write in writes { apply(write) }
            default: break
            }
        }
        leaveSomeToLedger()
    }

    // MARK: The backlog

    private mutating func bringIn(_ key: ContentKey) {
        guard backlog.remove(key) != nil else { return }
        for path in (waiters[key] ?? [:]).keys {
            if let record = ledger[path], record.key == key { book.bringIn(record) }
        }
    }

    /// Leaves uploads to the ledger until the machine holds no more than its window.
    private mutating func leaveSomeToLedger() {
        let held = waiters.filter { !backlog.contains($0.key) && !$0.value.values.contains(true) }.keys.sorted()
        for key in held.dropFirst(window) {
            backlog.insert(key)
            book.leaveToLedger((waiters[key] ?? [:]).keys.sorted(), waitingFor: key)
        }
    }

    /// Does what follows once the changes are made.
    mutating func conclude(_ actions: [PathAction]) {
        for action in actions {
            switch action {
            case .settle(let path): news.append(.settled(path))
            case .hash(let path, let identity, let job):
                hashes.append(HashWork(path: path, identity: identity, job: job))
            case .report(let path): if let record = record(path) { handle(posts: .changed(record)) }
            case .write(.drop(let record)): tellPosts(whenDurable: record.path)
            case .reportWhenDurable(let path): tellPosts(whenDurable: path)
            case .postLost(let record): handle(posts: .lost(record))
            case .postMoved(let old, let record): handle(posts: .moved(old, to: record))
            case .confirmRemoval(let path):
                checkRemoval(path)
                handle(posts: .missing(path))
            default: break
            }
        }
    }

    private mutating func checkRemoval(_ path: RelativePath) {
        if files[path] != nil { problem = problem ?? "\(path) is there, and counts as removed" }
        guard let since = goneSince[path] else { return }
        if now.monotonic - since < PathBook.removalGrace {
            problem = problem ?? "\(path) counts as removed before its grace is over"
        }
    }

    mutating func apply(_ write: LedgerWrite) {
        switch write {
        case .drop(let record):
            if record.path == .root { problem = problem ?? "the outbox itself has a record" }
            ledger[record.path] = record
        case .forgetDrop(let path): ledger[path] = nil
        case .source(let record): postLedger[record.id] = record
        case .forgetSource(let id): postLedger[id] = nil
        case .forgetConfirmation(let key, _): confirmations[account]?[key] = nil
        default: break
        }
    }

    mutating func apply(_ event: MachineEvent) {
        for key in event.keys { bringIn(key) }
        switch event {
        case .join(let path, let content, let paused), .verify(let path, let content, _, let paused):
            waiters[content.key, default: [:]][path] = paused
            if let inode = files[path]?.identity.inode, cancelled.contains(inode) {
                problem = problem ?? "\(path) was cancelled, and is sent"
            }
        case .leave(let path, let key):
            parked[path] = nil
            waiters[key]?[path] = nil
            if waiters[key]?.isEmpty == true { waiters[key] = nil }
            backlog.formIntersection(waiters.keys)
        case .rename(let old, let new, let key):
            if let paused = waiters[key]?.removeValue(forKey: old) { waiters[key]?[new] = paused }
            if let account = parked.removeValue(forKey: old) { parked[new] = account }
        case .setPaused(let path, let key, let paused):
            if waiters[key]?[path] != nil { waiters[key]?[path] = paused }
        case .commit(let commit, _): begin(commit)
        case .withdrawCommit(let id): commits[id] = nil
        case .discard(let handles): server.ids.subtract(handles.map(\.id))
        default: break
        }
    }
}

/// A snapshot of the stage.
struct PathStageFacts: PathFacts {
    var files: [RelativePath: PathStage.File]
    var directories: [RelativePath: UInt64]
    var ledger: [RelativePath: DropRecord]
    var confirmations: [ContentKey: Confirmation]
    var waiters: [ContentKey: [RelativePath: Bool]]
    var backlog: Set<ContentKey>
    var otherSpellings: Set<RelativePath> = []

    func look(at path: RelativePath) -> FileLook {
        if let file = files[path] { return .there(.regular, file.identity) }
        guard let inode = path == .root ? 0 : directories[path] else { return .nothing }
        return .there(
            .directory, FileIdentity(device: 1, inode: inode, size: 0, modified: 0, changed: 0, born: Int64(inode) + 1))
    }

    func isListed(_ path: RelativePath) -> Bool { !otherSpellings.contains(path) }

    func storedRecord(of path: RelativePath) -> DropRecord? { ledger[path] }

    func forEachStoredRecord(within directory: RelativePath, _ body: (DropRecord) -> Void) {
        for (path, record) in ledger.sorted(by: { $0.key < $1.key }) where path.isWithin(directory) { body(record) }
    }

    func forEachRecordNeededAtStart(_ body: (DropRecord) -> Void) {
        forEachStoredRecord(within: .root) { if $0.isNeededAtStart { body($0) } }
    }

    func anyStoredRecord(of key: ContentKey) -> DropRecord? { ledger.values.first { $0.key == key } }
    func confirmation(of key: ContentKey) -> Confirmation? { confirmations[key] }
    func canAnswer(about path: RelativePath, _ key: ContentKey?) -> Bool { true }
    func storedRecords(of key: ContentKey, atMost count: Int) -> [DropRecord] {
        Array(ledger.values.filter { $0.key == key }.sorted { $0.path < $1.path }.prefix(count))
    }

    func sidecarWish(of path: RelativePath) -> SidecarWish? { nil }
    var hasBacklog: Bool { !backlog.isEmpty }
    func isHeld(_ key: ContentKey) -> Bool { waiters[key] != nil && !backlog.contains(key) }
    func waiters(of key: ContentKey) -> [RelativePath] { (waiters[key] ?? [:]).keys.sorted() }
    func hasUpload(of key: ContentKey) -> Bool { waiters[key] != nil }
    func isWaiting(_ path: RelativePath, for key: ContentKey) -> Bool { waiters[key]?[path] != nil }
    var isAllPaused: Bool { false }
    var isSignedOut: Bool { false }
}
