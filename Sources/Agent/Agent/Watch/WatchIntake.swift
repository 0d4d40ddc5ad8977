import FileWatch
import Intake
import Ledger
import LinuxSystem
import Logging
import SystemPackage
import UploadCore

/// Translates events of the watch into steps for path book, posts and the rest of the agent.
///
/// A directory may hold many files, so the intake renames them page by page, one after the other. Other work gets its turn
/// in between.
struct WatchIntake: Sendable {
    /// Longest time the coordinator handles watch events without a break.
    static let slice = Duration.milliseconds(20)

    /// Files changed within as many nanoseconds were written just now.
    private static let fresh: Int64 = 60_000_000_000

    /// A renamed directory whose files come next, and how far they have come.
    private var directory: (old: RelativePath, new: RelativePath, next: DropPosition)?
    /// Renamed files, and a page of those of a renamed directory, that await their new names. The last one comes next.
    private var moves: [(old: RelativePath, new: RelativePath)] = []

    /// Returns the steps of the next queued event, or of the next file of a renamed directory; `nil` if nothing is left.
    mutating func next(from heard: BoundedQueue<WatchEvent>, _ facts: some WatchFacts) -> [AgentStep]? {
        if let steps = nextMove(facts) { return steps }
        guard let event = heard.next() else { return nil }
        return take(event, facts)
    }

    /// Returns the steps of an event. `nextMove` returns those of the files of a renamed directory.
    mutating func take(_ event: WatchEvent, _ facts: some WatchFacts) -> [AgentStep] {
        // Without posts, only a `source.toml` matters to them.
        guard let (news, path) = event.forPosts, facts.hasPosts || PostPlaces.directory(of: path) != nil else {
            return takeWithoutPosts(event, facts)
        }
        var isDescription = facts.isDescription(path)
        if case .renamed(_, _, isDirectory: true) = event { isDescription = false }
        return [.posts(news)] + (isDescription ? [] : takeWithoutPosts(event, facts))
    }

    private mutating func takeWithoutPosts(_ event: WatchEvent, _ facts: some WatchFacts) -> [AgentStep] {
        switch event {
        case .seen(let path): return [.path(.seen(path))]
        case .ready(let path, let status): return ready(path, status, facts)
        case .odd(let path, let status):
            return [.path(.odd(path, FileIdentity(status), IntakeRules.objection(toKind: status.kind)))]
        case .unreadable(let path, let error): return [unreadable(path, error, facts.look(at: path))]
        case .unlistable(let path, let error): return [unlistable(path, error)]
        case .gone(let path): return [.path(.gone(path))]
        case .renamed(let old, let new, let isDirectory):
            if isDirectory { directory = (old, new, .first) } else { moves.append((old, new)) }
            return []
        case .scanned(let summary): return scanned(summary, facts)
        case .deferring(let isDeferring): return [.deferring(isDeferring)]
        case .overflowed: return [.log(.warning, "events were lost; a full scan makes up for them", [:])]
        case .watchLimit(let limit): return watchLimit(limit)
        case .mountLost(let path): return mountLost(path)
        case .mounted(let path, let isSame): return mounted(path, isSame: isSame, facts)
        case .rootLost(let reason): return rootLost(reason, facts)
        case .rootBack(let isSame): return rootBack(isSame: isSame, facts)
        }
    }

    // MARK: Files

    private func ready(_ path: RelativePath, _ status: FileStatus, _ facts: some WatchFacts) -> [AgentStep] {
        let event = PathEvent.ready(path, FileIdentity(status), objection: facts.objection(toSize: status.size))
        // A user's wish may follow the file to this path, and a post may hold the file.
        return (facts.mayFollow ? [.posts(.expected(path))] : []) + [.path(event)] + doubts(path, status, facts)
    }

    /// Warns of a file whose copy may have ended early, because it was written just now to a disk that is full.
    private func doubts(_ path: RelativePath, _ status: FileStatus, _ facts: some WatchFacts) -> [AgentStep] {
        guard status.changed > wallTimeNanoseconds() - Self.fresh, facts.isDiskFull else { return [] }
        return [
            .log(
                .warning, "the file system of the outbox is full, so this file may be incomplete",
                ["path": "\(path)", "size": "\(status.size)", "remedy": "make room, and copy the file again"])
        ]
    }

    private func unreadable(_ path: RelativePath, _ error: Errno, _ look: FileLook) -> AgentStep {
        // A directory has taken the name by now.
        if case .there(.directory, _) = look { return unlistable(path, error) }
        let meaning = LocalError(error)
        let failure = FileError.unreadable(
            "\(path)", "\(error)", meaning.remedy, isPassing: meaning.isPassing)
        return .path(.unreadable(path, look.identity, failure))
    }

    private func unlistable(_ path: RelativePath, _ error: Errno) -> AgentStep {
        .log(
            .warning, "a directory can't be read, so its files are not uploaded",
            ["path": "\(path)", "reason": "\(error)", "remedy": "\(LocalError(error).remedy)"])
    }

    // MARK: Renames

    /// Returns the steps of the next file of a renamed directory; `nil` if none is left.
    mutating func nextMove(_ facts: some WatchFacts) -> [AgentStep]? {
        while moves.isEmpty, let (old, new, position) = directory {
            let page = facts.page(within: old, from: position)
            directory = page.next.map { (old, new, $0) }
            for source in page.paths {
                if let target = source.moved(from: old, to: new) { moves.append((source, target)) }
            }
        }
        return moves.popLast().map { [.posts(.expected($0.new)), .path(.renamed($0.old, to: $0.new))] }
    }

    // MARK: Scans

    /// Handles a full scan: known paths that were not found are gone, and expired entries are forgotten.
    private func scanned(_ summary: ScanSummary, _ facts: some WatchFacts) -> [AgentStep] {
        let isThere = !facts.outboxIsLost
        var steps: [AgentStep] = []
        if summary.unwatched == 0 { steps.append(.problem(.watch, nil)) }
        if !facts.hasScanned { steps.append(.sweepThumbnails) }
        if isThere { steps += [.handle(.scanFound(summary)), .handle(.retireStuck)] }
        steps += [.path(.scanned(summary)), .posts(.scanned(summary))]
        if isThere { steps += [.forgetNotice, .searchStrays, .checkLedger, .trimJournal] }
        return steps
    }

    // MARK: Limits and losses

    private func watchLimit(_ limit: WatchLimit) -> [AgentStep] {
        [
            .problem(.watch, "\(limit.reason); \(limit.remedy)"),
            .log(
                .warning, "a watch limit is reached; the agent polls unwatched directories and scans for lost events",
                ["directory": "\(limit.directory)", "reason": limit.reason, "remedy": limit.remedy]),
        ]
    }

    private func mountLost(_ path: RelativePath) -> [AgentStep] {
        [
            .path(.mountLost(path)),
            .log(
                .warning, "a file system below the outbox is gone; the agent waits for its files and cancels none",
                ["path": "\(path)", "remedy": "mount it again"]),
        ]
    }

    private func mounted(_ path: RelativePath, isSame: Bool, _ facts: some WatchFacts) -> [AgentStep] {
        [
            .path(.mounted(path, isSame: isSame, descriptions: facts.descriptions)),
            .log(.notice, "a file system is mounted below the outbox", ["path": "\(path)", "same": "\(isSame)"]),
            .uploads([.networkChanged]),
        ]
    }

    private func rootLost(_ reason: String, _ facts: some WatchFacts) -> [AgentStep] {
        [
            .path(.outboxLost), .posts(.outboxLost), .problem(.outbox, "the outbox is gone: \(reason)"),
            .log(
                .error, "the outbox is gone; the agent cancels nothing and continues when the outbox is back",
                ["outbox": facts.outboxPath, "reason": reason]),
        ]
    }

    private func rootBack(isSame: Bool, _ facts: some WatchFacts) -> [AgentStep] {
        let events: [AgentStep] = [
            .path(.outboxBack(isSame: isSame, descriptions: facts.descriptions)), .posts(.outboxBack(isSame: isSame)),
        ]
        return (isSame ? events : [.leaveOutbox] + events) + [
            .problem(.outbox, nil), .recoverHeldFiles, .log(.notice, "the outbox is back", ["same": "\(isSame)"]),
            .uploads([.networkChanged]),
        ]
    }
}

/// What `WatchIntake` may ask.
protocol WatchFacts {
    /// Whether there is a post.
    var hasPosts: Bool { get }
    /// The `source.toml` of every post.
    var descriptions: [RelativePath] { get }
    /// Whether a user's wish may follow a file to another path.
    var mayFollow: Bool { get }
    /// Whether the outbox was scanned in this run.
    var hasScanned: Bool { get }
    var outboxIsLost: Bool { get }
    /// The absolute path of the outbox, for log lines.
    var outboxPath: String { get }

    /// Whether the path is the `source.toml` of a post, or makes its directory a post.
    func isDescription(_ path: RelativePath) -> Bool
    /// Returns some of the known paths at or below a directory, and where the next page begins.
    func page(within directory: RelativePath, from position: DropPosition) -> (
        paths: [RelativePath], next: DropPosition?
    )
    func look(at path: RelativePath) -> FileLook
    /// Whether the file system of the outbox is full.
    var isDiskFull: Bool { get }
    /// Returns why a file of this size is rejected; `nil` if the size is accepted.
    func objection(toSize size: UInt64) -> FileError?
}
