/// The life of every path: a file appears, settles, is hashed, renamed, overwritten, removed or cancelled, or waits for
/// its owner. Events in, actions out.
///
/// A plain value without I/O, clock or randomness. It holds the paths that are settling, hashed or sent, and those whose
/// uploads the upload machine holds. For the rest it asks `PathFacts`: the ledger has the paths that wait in the backlog
/// and those in final states, the disk has the files. Decisions about contents go to `UploadMachine`.
package struct PathBook: Sendable {
    /// The part of the configuration that concerns paths.
    package struct Rules: Sendable {
        /// The folder whose pictures are profile pictures; nil if there is none.
        package var portraitFolder: RelativePath?
        /// What happens to files after their upload.
        var fate: Retirement.Fate
        /// How long an outcome stays visible after its file is gone.
        var retention: Duration
        /// What is done to files before their upload.
        package var recipes: Recipes

        package init(
            portraitFolder: RelativePath? = nil, fate: Retirement.Fate = .stay, retention: Duration,
            recipes: Recipes = Recipes()
        ) {
            self.recipes = recipes
            self.portraitFolder = portraitFolder
            self.fate = fate
            self.retention = retention
        }

        /// Whether files stay in the outbox after their upload.
        package var keepsFiles: Bool { fate == .stay }

        /// Whether the path is in the portrait folder.
        func isPortrait(_ path: RelativePath) -> Bool {
            guard let folder = portraitFolder else { return false }
            return path != folder && path.isWithin(folder)
        }
    }

    /// A hash in progress.
    struct HashJob: Sendable {
        /// Tells several hashes of one path apart; only the latest counts.
        var job: UInt64
        var identity: FileIdentity
        /// Whether the first scan found the file.
        var isFound: Bool
        var begun: Now
    }

    /// How long a name must be gone before the removal counts.
    static let removalGrace = Duration.seconds(2)

    package let rules: Rules
    /// How long the outcomes of removed files stay.
    package var retention: Retention
    /// Records of paths not in a final state, except those in the backlog. The ledger holds the others.
    package internal(set) var drops = PathMap<DropRecord>()
    /// Decides which account owns a file.
    package var ownership = Ownership(present: nil)
    var hashing: [RelativePath: HashJob] = [:]
    var lastJob: UInt64 = 0
    /// Other names of files that are being hashed.
    var sharedHashes = SharedHashes()
    /// Files read so soon after their last change that another change could leave their times unchanged.
    var racyFiles = RacyFiles()
    /// Files that wait until they can be read.
    var unread = UnreadFiles()
    /// The number of bytes hashed so far, for large files.
    var hashedBytes: [RelativePath: UInt64] = [:]
    /// How far products under way are.
    var processed: [RelativePath: ProcessingProgress] = [:]
    /// Media facts learned before the hash ended.
    var earlyFacts: [RelativePath: (identity: FileIdentity, facts: MediaFacts)] = [:]
    /// Missing names within their grace, and new names that may belong to the same files.
    var names = NameChanges(grace: PathBook.removalGrace)
    /// Wishes for paths whose content is still unknown.
    var wishes = EarlyWishes()
    /// Index of files that the user cancelled, paused or moved to the head of the queue, as far as memory allows.
    var wishIndex = WishIndex()
    /// Files that the user cancelled or paused and whose names other files took.
    var displaced = RecentTable<FileIdentity.Mark, DropRecord>(generation: 256)
    /// Files on their way out of the outbox.
    package var retirement: Retirement
    /// Mount points below the outbox whose file system is not mounted. Nothing below them counts as removed.
    package internal(set) var lostMounts: Set<RelativePath> = []
    /// Paths of a former outbox in another directory. Their absence from this outbox is not a removal.
    package internal(set) var elsewhere: Set<RelativePath> = []
    package internal(set) var outboxIsLost = false
    /// Whether the outbox was scanned in this run.
    package internal(set) var hasScanned = false
    /// Whether the ledger is new and no full scan has ended since. Sidecars then tell which files were cancelled or
    /// paused.
    package var isRecovering = false
    /// Profile pictures older than this run. Once all are hashed, only the newest goes to the server.
    var foundPortraits: Set<RelativePath> = []
    /// Profile pictures handed to the sender. Only the sender knows their state.
    var handedOver: Set<RelativePath> = []

    // State of the event in progress.
    /// `unsafe`: set only while an event is handled, and no copy of the value leaves until then.
    nonisolated(unsafe) var facts: any PathFacts = NoFacts()
    var now = Now(monotonic: MonotonicTime(nanoseconds: 0), wall: WallTime(milliseconds: 0))
    private var actions: [PathAction] = []
    /// Changes of the ledger made by this event.
    private(set) var changes: [RelativePath: DropRecord?] = [:]
    /// Paths of the backlog that the book holds for this event.
    var visitors: Set<RelativePath> = []

    /// Creates an empty book.
    package init(rules: Rules) {
        self.rules = rules
        retention = Retention(length: rules.retention)
        retirement = Retirement(fate: rules.fate)
    }

    /// Handles an event.
    ///
    /// - Returns: the actions to perform, in order.
    package mutating func handle(_ event: PathEvent, now: Now, facts: any PathFacts) -> [PathAction] {
        handle([event], now: now, facts: facts)
    }

    /// Handles events whose changes are one commit.
    ///
    /// - Returns: the actions to perform, in order.
    package mutating func handle(_ events: [PathEvent], now: Now, facts: any PathFacts) -> [PathAction] {
        step(now, facts) { book in
            for event in events {
                if facts.hasBacklog { for path in event.paths { book.visit(path) } }
                book.take(event)
            }
        }
    }

    /// Runs a step with the given time and facts.
    mutating func step(_ now: Now, _ facts: any PathFacts, _ work: (inout PathBook) -> Void) -> [PathAction] {
        self.now = now
        self.facts = facts
        work(&self)
        sendFoundPortraits()
        let actions = self.actions
        self.actions = []
        endVisits()
        changes = [:]
        // Releases the objects behind the facts before they change.
        self.facts = NoFacts()
        return actions
    }

    private mutating func take(_ event: PathEvent) {
        switch event {
        case .seen(let path): seen(path)
        case .ready(let path, let identity, let objection): ready(path, identity, objection)
        case .odd(let path, let identity, let error):
            isThere(path)
            finish(path, as: .rejected, identity, type: nil, error)
        case .unreadable(let path, let identity, let error): unreadable(path, identity, error)
        case .gone(let path): gone(path)
        case .renamed(let old, let new):
            names.stays(old)
            names.stays(new)
            move(old, to: new)
        case .scanned(let findings): scanned(findings)
        case .compared(let records, let findings): compare(records, with: findings)
        case .mountLost(let path):
            lostMounts.insert(path)
            names.forgetDepartures(within: path)
        case .mounted(let path, let isSame, let descriptions):
            lostMounts.remove(path)
            tryToRead(unread.takeAll(within: path))
            if !isSame { expectElsewhere(within: path, descriptions) }
        case .outboxLost:
            outboxIsLost = true
            names.forgetDepartures(within: .root)
        case .outboxBack(let isSame, let descriptions):
            outboxIsLost = false
            tryToRead(unread.takeAll(within: .root))
            guard !isSame else { return }
            lostMounts = []
            expectElsewhere(within: .root, descriptions)
        case .hashing(let path, let job, let bytes): hashing(path, job, bytes)
        case .stalled(let path, let job, let isStalled): stalled(path, job, isStalled)
        case .processing(let path, let job, let progress): processing(path, job, progress)
        case .hashed(let path, let job, let identity, let finding):
            hashed(path, job, finding)
            share(finding, of: identity)
        case .measured(let path, let identity, let facts): measured(path, identity, facts)
        case .act(let action, let path, let isByName):
            if isByName { recogniseRename(to: path) }
            if let reason = act(action, on: path) { add(.refuse(reason)) }
        case .retry(let path):
            if let reason = record(of: path).map({ retry($0) }) ?? "the file is gone" { add(.refuse(reason)) }
        case .lookAgain(let path): lookAgain(at: path)
        case .removed(let path): removed(path)
        case .strayFound(let path): cancelRemoved(path)
        case .forget(let path):
            forgetIntake(of: path)
            guard let record = record(of: path) else { return }
            if let key = record.key, !record.state.isFinal { add(.upload(.leave(path, key))) }
            forget(record)
        case .giveUp(let path, let error): giveUp(path, error)
        case .verify(let path): verify(path)
        case .descriptionMissing(let path): names.leaves(path, file: nil, now: now.monotonic)
        case .descriptionFound(let path): names.stays(path)
        case .portrait(let path, let key, let outcome): portrait(path, key, outcome)
        case .retirement(let path, let event): retire(path, event)
        case .tick: tick()
        }
    }

    private mutating func tick() {
        confirmLeaving()
        tryToRead(unread.takeDue(now: now.monotonic))
        for path in racyFiles.takeDue(now: now.monotonic) {
            if record(of: path)?.identity?.isUntrusted == true { add(.settle(path)) } else { racyFiles.forget(path) }
        }
    }

    /// When the next `tick` is due.
    package var nextDeadline: MonotonicTime? {
        [names.nextDeadline, racyFiles.nextDeadline, unread.nextDeadline].compactMap(\.self).min()
    }

    mutating func add(_ action: PathAction) { actions.append(action) }

    // MARK: Records

    /// Returns the record of a path. Only valid during an event.
    func record(of path: RelativePath) -> DropRecord? { drops[path] ?? storedRecord(of: path) }

    /// Returns the ledger's record of a path, including the changes of this event.
    func storedRecord(of path: RelativePath) -> DropRecord? {
        if let change = changes[path] { return change }
        return facts.storedRecord(of: path)
    }

    /// Updates the book with a record and writes the record to the ledger.
    mutating func store(_ record: DropRecord) {
        add(.write(change(record)))
    }

    /// Updates the book with a record during an event. Later reads of the event see the change.
    ///
    /// - Returns: the change to the ledger.
    mutating func change(_ record: DropRecord) -> LedgerWrite {
        defer { changes[record.path] = .some(record) }
        return keep(record)
    }

    /// Updates the book with a record while no event is in progress.
    ///
    /// - Returns: the change to the ledger.
    package mutating func keep(_ record: DropRecord) -> LedgerWrite {
        drops[record.path] = record.state.isFinal ? nil : record
        if let file = record.identity { noteDisplaced(at: record.path, by: file) }
        let write = LedgerWrite.drop(record)
        wishIndex.take(write)
        return write
    }

    /// Adds a change of the ledger for one path.
    mutating func add(write: LedgerWrite) {
        switch write {
        case .drop(let record):
            if let file = record.identity { noteDisplaced(at: record.path, by: file) }
            changes[record.path] = .some(record)
        case .forgetDrop(let path): changes[path] = .some(nil)
        default: break
        }
        wishIndex.take(write)
        add(.write(write))
    }

    /// Calls `body` with every present drop, or with those in a directory.
    func forEachDrop(within directory: RelativePath = .root, _ body: (DropRecord) -> Void) {
        for path in drops.paths(within: directory) { if let record = drops[path] { body(record) } }
        facts.forEachStoredRecord(within: directory) { if drops[$0.path] == nil { body($0) } }
    }

    /// Whether the path is in the portrait folder.
    package func isPortrait(_ path: RelativePath) -> Bool { rules.isPortrait(path) }

    /// Whether the path's file system is not mounted.
    package func isAway(_ path: RelativePath) -> Bool {
        lostMounts.contains { path.isWithin($0) }
    }

    /// Whether the file can't be at its path: its file system or the whole outbox is missing or was replaced.
    package func isMissing(_ path: RelativePath) -> Bool {
        outboxIsLost || elsewhere.contains(path) || isAway(path)
    }

    /// Whether the user paused this path itself, not everything.
    package func isPaused(_ record: DropRecord) -> Bool {
        record.state == .paused || wishes.paused.contains(record.path)
    }
}

/// Placeholder between events, when no facts are available.
private struct NoFacts: PathFacts {
    func look(at path: RelativePath) -> FileLook { .unknown }
    func isListed(_ path: RelativePath) -> Bool { true }
    func storedRecord(of path: RelativePath) -> DropRecord? { nil }
    func forEachStoredRecord(within directory: RelativePath, _ body: (DropRecord) -> Void) {}
    func forEachRecordNeededAtStart(_ body: (DropRecord) -> Void) {}
    var hasBacklog: Bool { false }
    func isHeld(_ key: ContentKey) -> Bool { false }
    func confirmation(of key: ContentKey) -> Confirmation? { nil }
    func canAnswer(about path: RelativePath, _ key: ContentKey?) -> Bool { false }
    func anyStoredRecord(of key: ContentKey) -> DropRecord? { nil }
    func storedRecords(of key: ContentKey, atMost count: Int) -> [DropRecord] { [] }
    func sidecarWish(of path: RelativePath) -> SidecarWish? { nil }
    func waiters(of key: ContentKey) -> [RelativePath] { [] }
    func hasUpload(of key: ContentKey) -> Bool { false }
    func isWaiting(_ path: RelativePath, for key: ContentKey) -> Bool { false }
    var isAllPaused: Bool { false }
    var isSignedOut: Bool { false }
}
