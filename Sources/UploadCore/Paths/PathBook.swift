/// Everything that is decided about paths: a file appears, comes to rest, is hashed, gets another name, is overwritten,
/// goes, is cancelled, waits for its owner. Events in, actions out.
///
/// A plain value without I/O, clock or randomness. It holds what is on its way, and asks `PathFacts` for everything else:
/// the ledger has the records of what is done, the disk tells what is there. What it decides about contents it hands to
/// `UploadMachine`.
package struct PathBook: Sendable {
    /// What the configuration says of paths.
    package struct Rules: Sendable {
        /// Pictures in this folder are profile pictures; nil where none are.
        package var portraitFolder: RelativePath?
        /// Whether files stay in the outbox after their upload.
        package var keepsFiles: Bool
        /// How long an outcome is told after its file is gone.
        package var retention: Duration

        package init(portraitFolder: RelativePath? = nil, keepsFiles: Bool = true, retention: Duration) {
            self.portraitFolder = portraitFolder
            self.keepsFiles = keepsFiles
            self.retention = retention
        }
    }

    /// A hash under way.
    struct HashJob: Sendable {
        /// Which of several hashes of one path counts.
        var job: UInt64
        var identity: FileIdentity
        /// Whether the first scan found the file.
        var isFound: Bool
        var begun: Now
    }

    /// A file on its way out of the outbox (`intake.after_upload`).
    package enum Retirement: Sendable {
        /// It is taken aside and being looked at.
        case held(DropRecord)
        /// It could not be moved; tried again after each full scan.
        case stuck
    }

    /// How long a name must be gone before its removal counts.
    package static let removalGrace = Duration.seconds(2)

    let rules: Rules
    /// What is known of every path that is not in a final state; the ledger has the others.
    package internal(set) var drops = PathMap<DropRecord>()
    /// Whose files are whose.
    package var ownership = Ownership(present: nil)
    var hashing: [RelativePath: HashJob] = [:]
    var lastJob: UInt64 = 0
    /// Other names of files that are being hashed.
    var sharedHashes = SharedHashes()
    /// Files that were read so soon after their last change that their times may not tell of the next.
    var racyFiles = RacyFiles()
    /// How many bytes of a large file that is being hashed are.
    var hashedBytes: [RelativePath: UInt64] = [:]
    /// What was learned of files before their hash was known.
    var earlyFacts: [RelativePath: (identity: FileIdentity, facts: MediaFacts)] = [:]
    /// Names that are gone, until it counts, and names that may be theirs now.
    var names = NameChanges(grace: PathBook.removalGrace)
    /// What users want of paths whose content is not known yet.
    var wishes = EarlyWishes()
    /// Which files the user cancelled, paused or moved to the head of the queue.
    var wishIndex = WishIndex()
    /// What the user cancelled or paused and another file took the name of.
    var displaced = RecentTable<FileIdentity.Mark, DropRecord>(generation: 256)
    /// Files on their way out of the outbox.
    package var retiring: [RelativePath: Retirement] = [:]
    /// Names that went because their files were taken aside; the watch is still to tell it.
    package var withdrawn: Set<RelativePath> = []
    /// Mount points below the outbox whose file system is away: nothing below them counts as removed.
    package internal(set) var lostMounts: Set<RelativePath> = []
    /// Paths of an outbox that was another directory: that they are not in this one does not mean they were removed.
    package internal(set) var elsewhere: Set<RelativePath> = []
    package internal(set) var outboxIsLost = false
    /// Whether the outbox was scanned in this run.
    package internal(set) var hasScanned = false
    /// Whether the ledger began anew and the outbox was not scanned since: sidecars tell what was cancelled or paused.
    package var isRecovering = false
    /// Profile pictures that were there before the agent, until all of them are known: only the newest is to be sent.
    var foundPortraits: Set<RelativePath> = []
    /// Profile pictures on their way: what became of them only who sends them knows.
    var handedOver: Set<RelativePath> = []

    // Of the event that is being handled.
    var facts: any PathFacts = NoFacts()
    var now = Now(monotonic: MonotonicTime(nanoseconds: 0), wall: WallTime(milliseconds: 0))
    private var actions: [PathAction] = []
    /// What this event changes in the ledger.
    private var changes: [RelativePath: DropRecord?] = [:]

    /// A book in which nothing stands.
    package init(rules: Rules) {
        self.rules = rules
    }

    /// Takes an event in.
    ///
    /// - Returns: what is to be done, in order.
    package mutating func handle(_ event: PathEvent, now: Now, facts: any PathFacts) -> [PathAction] {
        step(now, facts) { $0.take(event) }
    }

    /// Lets something happen at a moment, with the facts of that moment.
    mutating func step(_ now: Now, _ facts: any PathFacts, _ work: (inout PathBook) -> Void) -> [PathAction] {
        self.now = now
        self.facts = facts
        changes = [:]
        work(&self)
        sendFoundPortraits()
        let actions = self.actions
        self.actions = []
        // What the facts hold on to is let go before it changes.
        self.facts = NoFacts()
        return actions
    }

    private mutating func take(_ event: PathEvent) {
        switch event {
        case .seen(let path): seen(path)
        case .ready(let path, let identity, let objection): ready(path, identity, objection)
        case .odd(let path, let identity, let error):
            isThere(path)
            settle(path, as: .rejected, identity, type: nil, error)
        case .unreadable(let path, let identity, let error): settle(path, as: .failed, identity, type: nil, error)
        case .gone(let path): gone(path)
        case .renamed(let old, let new):
            names.stays(old)
            names.stays(new)
            move(old, to: new)
        case .scanned(let findings): scanned(findings)
        case .mountLost(let path):
            lostMounts.insert(path)
            names.forgetDepartures(within: path)
        case .mounted(let path, let isSame, let descriptions):
            lostMounts.remove(path)
            if !isSame { elsewhere.formUnion((drops.keys + descriptions).filter { $0.isWithin(path) }) }
        case .outboxLost:
            outboxIsLost = true
            names.forgetDepartures(within: .root)
        case .outboxBack(let isSame, let descriptions):
            outboxIsLost = false
            guard !isSame else { return }
            lostMounts = []
            elsewhere.formUnion(drops.keys + descriptions)
        case .hashing(let path, let job, let bytes): hashing(path, job, bytes)
        case .hashed(let path, let job, let identity, let finding):
            hashed(path, job, finding)
            share(finding, of: identity)
        case .measured(let path, let identity, let facts): measured(path, identity, facts)
        case .act(let action, let path, let isByName):
            if isByName { recogniseRename(to: path) }
            if let reason = act(action, on: path) { add(.refuse(reason)) }
        case .retry(let path):
            if let reason = record(of: path).map({ retry($0) }) ?? "it is gone" { add(.refuse(reason)) }
        case .lookAgain(let path): lookAgain(at: path)
        case .removed(let path): removed(path)
        case .strayFound(let path): cancelRemoved(path)
        case .forget(let path): if let record = record(of: path) { forget(record) }
        case .portrait(let path, let key, let outcome): portrait(path, key, outcome)
        case .tick: tick()
        }
    }

    private mutating func tick() {
        confirmLeaving()
        for path in racyFiles.takeDue(now: now.monotonic) {
            if record(of: path)?.identity?.isUntrusted == true { add(.settle(path)) } else { racyFiles.forget(path) }
        }
    }

    /// When something is to be done by itself.
    package var nextDeadline: MonotonicTime? {
        [names.nextDeadline, racyFiles.nextDeadline].compactMap(\.self).min()
    }

    mutating func add(_ action: PathAction) { actions.append(action) }

    // MARK: Records

    /// What is known of a path; during an event only.
    func record(of path: RelativePath) -> DropRecord? { drops[path] ?? storedRecord(of: path) }

    /// What the ledger holds of a path, or will hold after this event.
    func storedRecord(of path: RelativePath) -> DropRecord? {
        if let change = changes[path] { return change }
        return facts.storedRecord(of: path)
    }

    /// Takes a record over and stores it.
    mutating func store(_ record: DropRecord) {
        add(.write(keep(record)))
    }

    /// Takes a record over.
    ///
    /// - Returns: how the ledger must change.
    package mutating func keep(_ record: DropRecord) -> LedgerWrite {
        drops[record.path] = record.state.isFinal ? nil : record
        if let file = record.identity { noteDisplaced(at: record.path, by: file) }
        changes[record.path] = .some(record)
        let write = LedgerWrite.drop(record)
        wishIndex.take(write)
        return write
    }

    /// Has the ledger change as to one path.
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

    /// Every drop as it is now, or those within a directory.
    func forEachDrop(within directory: RelativePath = .root, _ body: (DropRecord) -> Void) {
        for path in drops.paths(within: directory) { if let record = drops[path] { body(record) } }
        facts.forEachStoredRecord(within: directory) { if drops[$0.path] == nil { body($0) } }
    }

    /// Whether the profile-picture folder holds a path.
    package func isPortrait(_ path: RelativePath) -> Bool {
        guard let folder = rules.portraitFolder else { return false }
        return path != folder && path.isWithin(folder)
    }

    /// Whether the file system that a path was on is not mounted now.
    package func isAway(_ path: RelativePath) -> Bool {
        lostMounts.contains { path.isWithin($0) }
    }

    /// Whether a file is not where its path says: its file system, or the whole outbox, is away or another one.
    package func isMissing(_ path: RelativePath) -> Bool {
        outboxIsLost || elsewhere.contains(path) || isAway(path)
    }

    /// Whether the user paused the path itself, as opposed to everything.
    package func isPaused(_ record: DropRecord) -> Bool {
        record.state == .paused || wishes.paused.contains(record.path)
    }
}

/// Between two events nobody may ask.
private struct NoFacts: PathFacts {
    func look(at path: RelativePath) -> FileLook { .unknown }
    func storedRecord(of path: RelativePath) -> DropRecord? { nil }
    func forEachStoredRecord(within directory: RelativePath, _ body: (DropRecord) -> Void) {}
    func confirmation(of key: ContentKey) -> Confirmation? { nil }
    func anyStoredRecord(of key: ContentKey) -> DropRecord? { nil }
    func sidecarWish(of path: RelativePath) -> SidecarWish? { nil }
    func waiters(of key: ContentKey) -> [RelativePath] { [] }
    func hasUpload(of key: ContentKey) -> Bool { false }
    func isWaiting(_ path: RelativePath, for key: ContentKey) -> Bool { false }
    var isAllPaused: Bool { false }
    var isSignedOut: Bool { false }
}
