/// The life of one source: a directory whose files form one post on the server.
///
/// A plain value without I/O, clock or randomness, like `UploadMachine`. The files are ordinary uploads, and events
/// report their states. The machine decides which files may be sent (`holds`), when to make a revision of the source,
/// and what to commit once the server has all contents.
///
/// A pair of id and revision never goes to the server with two different payloads. The record holds a commit from the
/// decision until the server's answer, and a restart or a resume sends it again unchanged. A commit given up without an
/// answer may have reached the server, so its number is skipped. A refusal frees the number for another payload, unless
/// several requests carried it and only one was answered.
public struct SourceMachine: Sendable {
    /// How long the directory must be quiet before the machine makes a revision: 2 s.
    public static let quiet = Duration.seconds(2)
    /// The name of the description among pending changes.
    static let descriptionName = RelativePath.root.appending(PostPlaces.descriptionName.utf8)

    /// The part of the state that the ledger stores.
    public internal(set) var record: SourceRecord
    /// All known files of the directory, relative to it.
    public internal(set) var files: [RelativePath: SourceFile] = [:]

    /// Names of the revision or the post that no longer exist.
    var gone: Set<RelativePath> = []
    /// Files already uploading when `source.toml` appeared.
    var adopted: Set<RelativePath> = []
    /// Files to retry, without a report since the request.
    var awaited: Set<RelativePath> = []
    /// Files of the revision that the server is verifying, because it did not know an id.
    var unverified: Set<RelativePath> = []
    /// The last `source.toml` read in this run. While a revision is in progress, `record.description` holds the
    /// description of that revision.
    var seen: SourceDescription?
    /// Why `source.toml` is unusable.
    var malformed: FileError?
    /// Whether the user submitted the source before its `source.toml` was read.
    var isSubmitted = false
    /// How often in a row the server did not know the files' ids.
    var forgotten = 0
    /// How often in a row the server had other files under the revision of a commit.
    var taken = 0
    /// The commit requested and neither answered nor withdrawn.
    var commitOut: SourceCommit?

    /// How often the commit was requested. An answer may belong to any of these requests.
    var timesAsked = 0

    /// When something below the directory last changed.
    var movedAt: MonotonicTime
    /// When this run began. A rejection stands until all files had time to be reported again.
    let begunAt: MonotonicTime
    /// The time of the last `handle`.
    var handledAt: MonotonicTime
    /// Whether something changed that a rejection may depend on.
    var isDirty = false
    /// Whether something visible changed outside the record.
    var isChanged = false
    var actions: [SourceAction] = []

    /// Creates a new source, or restores one from the ledger. Send a restored source its description and files again.
    ///
    /// - Parameters:
    ///   - record: the source.
    ///   - now: the clocks.
    public init(record: SourceRecord, now: Now) {
        self.record = record
        movedAt = now.monotonic
        begunAt = now.monotonic
        handledAt = now.monotonic
        if case .committing = record.stage { timesAsked = 1 }
    }

    /// Handles events.
    ///
    /// - Parameters:
    ///   - events: the events, in order.
    ///   - now: the clocks.
    /// - Returns: the actions to perform: `store` first, if the record changed; `changed` last, if anything visible
    ///   changed.
    public mutating func handle(_ events: [SourceEvent], now: Now) -> [SourceAction] {
        let before = record
        handledAt = now.monotonic
        for event in events { take(event, now: now) }
        goOn(now: now)
        settleCommit()
        if !isFinal {
            record.finishedAt = nil
        } else if record.finishedAt == nil {
            record.finishedAt = now.wall
        }
        if record.stage != .collecting { adopted = [] }
        let isStored = record != before
        defer {
            actions.removeAll()
            isChanged = false
        }
        return (isStored ? [.store] : []) + actions + (isStored || isChanged ? [.changed] : [])
    }

    /// Records that the source's directory moved within the outbox. The source keeps its id and its commits.
    ///
    /// - Returns: the actions to perform, as `handle` does.
    public mutating func move(to directory: RelativePath) -> [SourceAction] {
        guard directory != record.directory else { return [] }
        record.directory = directory
        return [.store, .changed]
    }

    /// Records a new mark of the same directory, which was restored or moved together with the whole outbox.
    ///
    /// - Returns: the actions to perform, as `handle` does.
    public mutating func recognise(as mark: SourceRecord.DirectoryMark) -> [SourceAction] {
        guard record.mark != mark else { return [] }
        record.mark = mark
        return [.store]
    }

    /// When the next `tick` is due; nil if only other events can cause actions.
    public var nextDeadline: MonotonicTime? {
        guard seen != nil else { return nil }
        let due: MonotonicTime
        switch record.stage {
        case .collecting where !record.isPaused: due = movedAt + Self.quiet
        case .rejected where isDirty && malformed == nil: due = begunAt + Self.quiet
        default: return nil
        }
        return due > handledAt ? due : nil
    }

    /// Whether the next event may make the machine take a revision, because the source has been quiet long enough.
    public func isAboutToBeTaken(at now: MonotonicTime) -> Bool {
        record.stage == .collecting && !record.isPaused && seen != nil && now >= movedAt + Self.quiet
    }

    /// Assigns to an account a source that arrived while nobody was signed in.
    ///
    /// - Returns: the actions to perform, as `handle` does.
    public mutating func give(to account: String) -> [SourceAction] {
        guard record.account != account else { return [] }
        record.account = account
        return [.store]
    }

    private mutating func take(_ event: SourceEvent, now: Now) {
        switch event {
        case .adopt(let names):
            adopted.formUnion(names)
            isChanged = true
        case .moved: movedAt = now.monotonic
        case .described(let description): describe(description, now: now)
        case .malformed(let error): describe(as: error, now: now)
        case .file(let name, let file): tell(name, file, now: now)
        case .gone(let name): lose(name, now: now)
        case .renamed(let name, let new): rename(name, to: new, now: now)
        case .submit: submit()
        case .setPaused(let paused): setPaused(paused)
        case .cancel: cancel()
        case .retry: retry()
        case .removed: remove()
        case .committed(let revision, let outcome): committed(revision, outcome)
        case .tick: break
        }
    }

    /// Takes the next steps that the present state allows.
    private mutating func goOn(now: Now) {
        if let malformed, isEditable {
            record.description = nil
            seen = nil
            record.stage = .rejected(malformed)
        }
        if case .rejected = record.stage, isDirty, seen != nil, now.monotonic >= begunAt + Self.quiet {
            record.stage = .collecting
        }
        if isAboutToBeTaken(at: now.monotonic) { takeRevision() }
        if record.stage == .uploading { finishRevision() }
    }

    /// Whether the present changes belong to no revision yet, so that everything may still change.
    private var isEditable: Bool {
        switch record.stage {
        case .draft, .collecting, .rejected: true
        case .uploading, .committing, .done, .failed, .cancelled: false
        }
    }

    /// Whether nothing more happens without a person.
    var isFinal: Bool {
        switch record.stage {
        case .draft, .collecting, .uploading, .committing: false
        case .done, .failed, .cancelled, .rejected: true
        }
    }

    /// Whether the record's description belongs to a revision in progress.
    var isTaken: Bool {
        switch record.stage {
        case .uploading, .committing: true
        case .draft, .collecting, .done, .failed, .cancelled, .rejected: false
        }
    }
}
