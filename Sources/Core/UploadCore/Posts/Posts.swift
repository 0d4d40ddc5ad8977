/// The life of all posts: directories with `source.toml` appear, are renamed, dissolve, vanish and return; their files
/// come, change and go. Events in, actions out.
///
/// A plain value without I/O, clock or randomness. `SourceMachine` decides about one post. `Posts` finds the post of a
/// file, tells the machine, and turns the machine's actions into those of path book, upload machine and ledger. It is
/// driven by the watch, by the decisions of the path book and by users, never by a report.
package struct Posts: Sendable {
    /// The part of the configuration that concerns posts.
    package struct Rules: Sendable {
        /// What holds for paths.
        var paths: PathBook.Rules
        /// The scope of the server's confirmations.
        var scope: RemoteScope

        package init(paths: PathBook.Rules, scope: RemoteScope) {
            self.paths = paths
            self.scope = scope
        }
    }

    /// The shortest time between two reports of progress.
    private static let reportPace = Duration.milliseconds(250)
    /// How long a post waits for the watch to report existing files. The watch reports polled files within seconds.
    static let watchPatience = Duration.seconds(60)

    let rules: Rules
    /// Decides which account owns a post.
    package var ownership = Ownership(present: nil)
    /// The known posts.
    var book = SourceBook()
    /// Files of posts that the ledger does not know. Used until the first scan.
    var unfound: [RelativePath] = []
    /// Confirmed posts whose directories left the outbox.
    var departed = RecentTable<SourceRecord.DirectoryMark, SourceRecord>(generation: 64)
    /// Directories of posts in the previous outbox, not found in the present outbox yet.
    var elsewhere: Set<RelativePath> = []
    /// Posts with unreported progress, and when to report it.
    private var progressed: Set<RelativePath> = []
    private var reportDue: MonotonicTime?
    /// Whether the outbox was scanned in this run.
    var hasScanned = false
    var outboxIsLost = false

    // State of the event in progress.
    /// `unsafe`: set only while an event is handled, and no copy of the value leaves until then.
    nonisolated(unsafe) var facts: any PostFacts = NoPostFacts()
    var now = Now(monotonic: MonotonicTime(nanoseconds: 0), wall: WallTime(milliseconds: 0))
    private var actions: [PostsAction] = []
    /// The waiters that this event pauses or resumes. The facts do not know yet.
    private var held: [RelativePath: Bool] = [:]

    /// Creates a value without posts.
    package init(rules: Rules) {
        self.rules = rules
    }

    /// Handles an event.
    ///
    /// - Returns: the actions to perform, in order.
    package mutating func handle(_ event: PostsEvent, now: Now, facts: any PostFacts) -> [PostsAction] {
        step(now, facts) { $0.take(event) }
    }

    /// Runs a step with the given time and facts.
    mutating func step(_ now: Now, _ facts: any PostFacts, _ work: (inout Posts) -> Void) -> [PostsAction] {
        self.now = now
        self.facts = facts
        held = [:]
        work(&self)
        let actions = self.actions
        self.actions = []
        // Releases the objects behind the facts before they change.
        self.facts = NoPostFacts()
        return actions
    }

    private mutating func take(_ event: PostsEvent) {
        switch event {
        case .seen(let path): seen(path)
        case .ready(let path, let identity): settled(path, identity)
        case .odd(let path): settled(path, nil)
        case .gone(let path): gone(path)
        case .renamed(let old, let new, let isDirectory): renamed(old, to: new, isDirectory: isDirectory)
        case .scanned(let findings): scanned(findings)
        case .outboxLost: outboxIsLost = true
        case .outboxBack(let isSame):
            outboxIsLost = false
            if !isSame { elsewhere.formUnion(book.directories) }
        case .read(let directory, let result): read(directory, result)
        case .expected(let path): findPost(above: path)
        case .changed(let record): changed(record)
        case .lost(let record): lost(record)
        case .moved(let old, let record): moved(old, to: record)
        case .missing(let path): missing(path)
        case .started: start()
        case .wish(let wish, let directory): act(wish, on: directory)
        case .actOnAll(let action): actOnAll(action)
        case .signedIn(let account): give(to: account)
        case .commitEnded(let id, let revision, let outcome):
            if let directory = book.directory(withID: id) { tell(directory, [.committed(revision: revision, outcome)]) }
        case .retired(let directory): forget(directory)
        case .tick: tick()
        }
    }

    mutating func add(_ action: PostsAction) { actions.append(action) }

    // MARK: Time

    /// Whether the outbox exists and a scan has found its files. Until then, no post makes a revision.
    private var isAwake: Bool { hasScanned && !outboxIsLost }

    private mutating func tick() {
        if isAwake {
            for directory in book.waiting.sorted() {
                guard let entry = book[directory], let deadline = entry.machine.nextDeadline,
                    deadline <= now.monotonic, !isParked(entry.record)
                else { continue }
                tell(directory, [.tick])
            }
        }
        guard let due = reportDue, due <= now.monotonic else { return }
        reportDue = nil
        for directory in progressed.sorted() where book[directory] != nil { add(.report(directory)) }
        progressed = []
    }

    /// When the next `tick` is due.
    package var nextDeadline: MonotonicTime? {
        let next = isAwake ? book.nextDeadline { !isParked($0) } : nil
        return [next, reportDue].compactMap(\.self).min()
    }

    /// Records that the report of a post would differ now. Changes within `reportPace` share one report.
    ///
    /// - Returns: whether the caller must set its alarm anew.
    @discardableResult
    package mutating func noteProgress(of directory: RelativePath, now: MonotonicTime) -> Bool {
        guard book[directory] != nil else { return false }
        progressed.insert(directory)
        if reportDue != nil { return false }
        reportDue = now + Self.reportPace
        return true
    }

    /// Records that the reports of all posts under way would differ now.
    ///
    /// - Returns: whether the caller must set its alarm anew.
    package mutating func noteProgressOfAll(now: MonotonicTime) -> Bool {
        let underWay = book.directories.filter { book[$0]?.record.isUnderWay == true }
        return underWay.reduce(false) { noteProgress(of: $1, now: now) || $0 }
    }

    // MARK: Questions

    /// Whether there is no post.
    package var isEmpty: Bool { book.isEmpty }
    /// The directories of all posts, sorted.
    package var directories: [RelativePath] { book.directories }
    /// The `source.toml` of every post.
    package var descriptions: [RelativePath] { book.directories.map(PostPlaces.description) }

    /// Returns the post of a directory.
    package subscript(_ directory: RelativePath) -> SourceMachine? { book[directory]?.machine }

    /// Returns the directory of the post with an id.
    package func directory(withID id: String) -> RelativePath? { book.directory(withID: id) }

    /// Returns the directory of the post that contains the path or is the path; nil if there is none.
    package func directory(above path: RelativePath) -> RelativePath? { book.directory(above: path) }

    /// Returns the directory of the post of a file: the directory contains the file, and both belong to the same
    /// account.
    package func directory(of record: DropRecord) -> RelativePath? {
        guard let directory = book.directory(above: record.path), let post = book[directory]?.record else {
            return nil
        }
        let present = ownership.present
        let isSame = (ownership.owner(record.account) ?? present) == (ownership.owner(post.account) ?? present)
        return isSame ? directory : nil
    }

    /// Returns the directory that a path, as its `source.toml`, makes a post; nil for any other path.
    package func directory(describedBy path: RelativePath) -> RelativePath? {
        guard let directory = PostPlaces.directory(of: path), !rules.paths.isPortrait(path) else { return nil }
        // A `source.toml` below a post is an ordinary file of that post.
        return book.directory(above: directory.parent) == nil ? directory : nil
    }

    /// Whether a file's post holds the file back.
    package func holds(_ record: DropRecord) -> Bool {
        guard let directory = directory(of: record), let name = record.path.relative(to: directory),
            let machine = book[directory]?.machine
        else { return false }
        return machine.holds(name, with: record.key)
    }

    /// Whether a confirmed file must stay in the outbox because its post is not confirmed yet.
    package func keeps(_ record: DropRecord) -> Bool {
        directory(of: record).flatMap { book[$0] }?.machine.keepsFiles ?? false
    }

    /// Whether a file belongs to a draft.
    package func isInDraft(_ record: DropRecord) -> Bool {
        guard let directory = directory(of: record), case .draft = book[directory]?.record.stage else { return false }
        return true
    }

    /// Whether a post waits until its owner signs in.
    func isParked(_ post: SourceRecord) -> Bool { ownership.isParked(post.account) }

    // MARK: Machines

    /// Passes events to the machine of a post and carries out its decisions, then the events that follow from these.
    mutating func tell(_ directory: RelativePath, _ events: [SourceEvent]) {
        var events = events
        while !events.isEmpty {
            if awaitsWatch(directory) { events.insert(.moved, at: 0) }
            guard let actions = book[directory]?.machine.handle(events, now: now) else { return }
            events = carryOut(actions, of: directory)
        }
    }

    /// Carries out the decisions of a post.
    ///
    /// - Returns: events for the post that follow from these decisions.
    @discardableResult
    mutating func carryOut(_ decisions: [SourceAction], of directory: RelativePath) -> [SourceEvent] {
        guard let record = book[directory]?.record else { return [] }
        var events: [SourceEvent] = []
        var files: [RelativePath] = []
        for decision in decisions {
            switch decision {
            case .store: add(.write(.source(record)))
            case .commit(let commit, let forgotten):
                if !isParked(record) { add(.upload(.commit(commit, forgotten: forgotten))) }
            case .withdrawCommit: add(.upload(.withdrawCommit(record.id)))
            case .verify(let names): for name in names { add(.path(.verify(directory.appending(name.bytes)))) }
            case .discardFiles(let names, let error): discard(names, of: record, error)
            case .retryFiles(let names): events += names.compactMap { retry($0, in: directory) }
            case .changed: files += holdFiles(of: directory)
            }
        }
        if let entry = book[directory], entry.reportedStage != record.stage {
            book[directory]?.reportedStage = record.stage
            files += entry.machine.files.keys.map { directory.appending($0.bytes) }.filter(facts.isOnItsWay)
        }
        if decisions.contains(.store) || !files.isEmpty {
            add(.reportWhenDurable(directory, files: Set(files).sorted()))
            if !rules.paths.keepsFiles, book[directory]?.machine.keepsFiles == false { add(.retireFiles(directory)) }
        } else if decisions.contains(.changed) {
            noteProgress(of: directory, now: now.monotonic)
        }
        return events
    }

    /// Retries a file of a post.
    ///
    /// - Returns: the event for the post if the file is gone and nothing can be retried.
    private mutating func retry(_ name: RelativePath, in directory: RelativePath) -> SourceEvent? {
        let path = directory.appending(name.bytes)
        let record = facts.record(of: path)
        let isUploading = record.map { !$0.state.isFinal && $0.state != .paused && $0.key != nil } ?? false
        if facts.look(at: path).isGone, !isUploading { return .gone(name) }
        if record != nil { add(.path(.retry(path))) }
        return nil
    }

    /// Tells the upload machine which contents belong together and which files may be sent.
    ///
    /// - Returns: the files whose reports change.
    private mutating func holdFiles(of directory: RelativePath) -> [RelativePath] {
        guard let entry = book[directory] else { return [] }
        let gathered = isParked(entry.record) ? [] : entry.machine.gathered
        if gathered != entry.gathered {
            book[directory]?.gathered = gathered
            add(.upload(.gather(entry.record.id, gathered)))
        }
        var changed: [RelativePath] = []
        for (name, file) in entry.machine.files.sorted(by: { $0.key < $1.key }) {
            let path = directory.appending(name.bytes)
            guard let key = file.key, facts.isOnItsWay(path), let record = facts.record(of: path), record.key == key,
                self.directory(of: record) == directory, let isPaused = held[path] ?? facts.isPaused(path, for: key)
            else { continue }
            let isHeld = entry.machine.holds(name) || facts.isPausedByUser(record)
            if isHeld == isPaused { continue }
            hold(path, key, isHeld)
            changed.append(path)
        }
        return changed
    }

    /// Pauses or resumes a waiter.
    mutating func hold(_ path: RelativePath, _ key: ContentKey, _ isHeld: Bool) {
        held[path] = isHeld
        add(.upload(.setPaused(path, key, isHeld)))
    }

    /// Gives files up. Also deletes their confirmed contents on the server if no other path needs them.
    private mutating func discard(_ names: [RelativePath], of post: SourceRecord, _ error: FileError) {
        let paths = Set(names.map { post.directory.appending($0.bytes) })
        for path in paths.sorted() {
            if let record = facts.record(of: path), record.state == .done, let key = record.key,
                wasSent(record, for: post)
            {
                discard(key, record, but: paths)
            }
            add(.path(.giveUp(path, error)))
        }
    }

    /// Whether a content was sent for this post. Contents that the server had before stay there.
    private func wasSent(_ record: DropRecord, for post: SourceRecord) -> Bool {
        guard !record.deduplicated, let end = record.finishedAt else { return false }
        return end.milliseconds >= post.acceptedAt.milliseconds
    }

    private mutating func discard(_ key: ContentKey, _ record: DropRecord, but paths: Set<RelativePath>) {
        let isNeeded = (facts.knownRecords(of: key) ?? [record]).contains { other in
            !paths.contains(other.path) && other.state != .cancelled && other.state != .failed
        }
        guard !isNeeded, !ownership.isParked(record.account) else { return }
        add(.write(.forgetConfirmation(key, rules.scope)))
        if let id = record.remote?.id { add(.upload(.discard([RemoteHandle(id: id)]))) }
    }
}

extension SourceRecord {
    /// Whether the post was submitted, but neither confirmed nor given up.
    package var isUnderWay: Bool {
        switch stage {
        case .collecting, .uploading, .committing: true
        case .draft, .done, .failed, .cancelled, .rejected: false
        }
    }
}
