/// The life of one source: a directory whose files are told to the server as one post.
///
/// A plain value without I/O, clock or randomness, as `UploadMachine` is. It is told how it stands with the files of the
/// directory, which are uploads like any other, and decides which of them may be sent (`holds`), when the source is taken,
/// and what the server is told when all its contents are there.
///
/// One pair of id and revision is never told with two different payloads. What is told stands in the record from the
/// moment it is decided until the server has answered, and is told again unchanged after a restart or a pause. Where it is
/// given up without an answer, the server may have it all the same: its number is passed over then. A refusal is an
/// answer: the number is free for another payload, unless it was told more than once and only one telling is answered.
public struct SourceMachine: Sendable {
    /// How long nothing below the directory may have moved before the source is taken: 2 s.
    public static let quiet = Duration.seconds(2)
    /// How the description is named among pending changes.
    static let descriptionName = RelativePath.root.appending("source.toml".utf8)

    /// What the ledger has to hold of it.
    public internal(set) var record: SourceRecord
    /// All files known in the directory, relative to it.
    public internal(set) var files: [RelativePath: SourceFile] = [:]

    /// Names of the revision or the post that are not there any more.
    var gone: Set<RelativePath> = []
    /// Files that were on their way before `source.toml` came.
    var adopted: Set<RelativePath> = []
    /// Files that are to be looked at anew and were not reported since.
    var awaited: Set<RelativePath> = []
    /// Files of the revision whose contents the server is being asked about, since it did not know one.
    var unverified: Set<RelativePath> = []
    /// What `source.toml` was last read to say in this run. The record's is what the revision was taken with for as long as
    /// that is on its way.
    var seen: SourceDescription?
    /// Why `source.toml` can't be made use of.
    var malformed: FileError?
    /// It was submitted before it was known whether it is a draft.
    var isSubmitted = false
    /// How often in a row the server did not know the files' ids.
    var forgotten = 0
    /// What was asked for and neither answered nor withdrawn.
    var commitOut: SourceCommit?

    /// How often the commit was asked for: an answer may be to any of these.
    var timesAsked = 0

    /// When something below the directory moved last.
    var movedAt: MonotonicTime
    /// When this run began: a file is no news before all of them were told.
    let begunAt: MonotonicTime
    /// When events were last taken in.
    var handledAt: MonotonicTime
    /// Something changed that a rejection may depend on.
    var isDirty = false
    /// Something that can be seen changed besides the record.
    var isChanged = false
    var actions: [SourceAction] = []

    /// A source that was just seen, or as the ledger holds it: then its description and its files are to be told again.
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

    /// Takes events in and says what is to be done.
    ///
    /// - Parameters:
    ///   - events: what happened, in order.
    ///   - now: the clocks.
    /// - Returns: `store` first, where the record is another; `changed` last, where anything that can be seen is.
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

    /// The directory is somewhere else in the outbox now: the source is the same, and so is what the server was told already.
    ///
    /// - Returns: as `handle`.
    public mutating func move(to directory: RelativePath) -> [SourceAction] {
        guard directory != record.directory else { return [] }
        record.directory = directory
        return [.store, .changed]
    }

    /// The directory has another mark now although it is the same: it was restored, or moved here with the whole outbox.
    ///
    /// - Returns: as `handle`.
    public mutating func recognise(as mark: SourceRecord.DirectoryMark) -> [SourceAction] {
        guard record.mark != mark else { return [] }
        record.mark = mark
        return [.store]
    }

    /// The moment at which `tick` has something to do; nil when only events can bring anything.
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

    /// Whether anything that it is told now may make it take a revision: nothing has moved for long enough.
    public func isAboutToBeTaken(at now: MonotonicTime) -> Bool {
        record.stage == .collecting && !record.isPaused && seen != nil && now >= movedAt + Self.quiet
    }

    /// Says whose the source is, that came while nobody was signed in.
    ///
    /// - Returns: as `handle`.
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

    /// What follows from how things stand now.
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

    /// Whether nothing was taken yet, so that everything may still change.
    private var isEditable: Bool {
        switch record.stage {
        case .draft, .collecting, .rejected: true
        case .uploading, .committing, .done, .failed, .cancelled: false
        }
    }

    /// Whether nothing more happens unless a person acts.
    var isFinal: Bool {
        switch record.stage {
        case .draft, .collecting, .uploading, .committing: false
        case .done, .failed, .cancelled, .rejected: true
        }
    }

    /// Whether the record's description is what the revision on its way was taken with.
    var isTaken: Bool {
        switch record.stage {
        case .uploading, .committing: true
        case .draft, .collecting, .done, .failed, .cancelled, .rejected: false
        }
    }
}
