import Text
import Console
import ControlAPI
import Reports
import UploadCore

/// Runs `wait`: polls the agent and shows changes.
struct Waiting {
    private let link: AgentLink
    private let needsScan: Bool
    /// The files to request individually; nil if the targets include directories or too many files.
    private let named: [RelativePath]?
    /// Whether to count finished files instead of reading each of them: there may be a million.
    private let countsDone: Bool
    /// Number of finished files that were counted, not read.
    private var doneCount = 0
    /// The directories of the named sources.
    private let namedSources: Set<RelativePath>
    private var fileFollower: Follower<FileEntry>
    private var postFollower: Follower<SourceEntry>
    private var hasReadAll = false
    private var display: ProgressDisplay
    /// Paths whose failure was already printed.
    private var told: Set<String> = []
    /// Why the agent has not seen all files; nil if it has.
    private(set) var obstacle: String?
    /// The state of the waited-for files.
    private(set) var course: WaitCourse

    /// Longer lists of failures are cut and counted.
    private static let longestList = 20
    /// Maximum number of named files to request individually.
    private static let mostQuestions = 32

    /// - Parameter listsAll: Whether the result names every finished file.
    init(
        link: AgentLink, targets: Set<WaitTarget>, passesOverOldRejections: Bool, listsAll: Bool,
        display: ProgressDisplay
    ) {
        self.link = link
        self.display = display
        course = WaitCourse(for: targets, passesOverOldRejections: passesOverOldRejections)
        needsScan = targets.contains { if case .below = $0 { true } else { false } }
        let files = targets.compactMap { if case .file(let path) = $0 { path } else { nil } }
        namedSources = Set(targets.compactMap { if case .source(let path) = $0 { path } else { nil } })
        let isShort = files.count + namedSources.count == targets.count && files.count <= Self.mostQuestions
        named = isShort ? files : nil
        var directory: RelativePath?
        if targets.count == 1, case .below(let only)? = targets.first { directory = only }
        countsDone = directory != nil && !listsAll
        fileFollower = Follower(filesOf: link.client, below: directory ?? .root)
        postFollower = Follower(link.client)
    }

    /// Waits.
    ///
    /// - Returns: False if the time ran out.
    /// - Throws: `ControlError` if the agent ends meanwhile.
    mutating func run(timeout: Duration?) async throws -> Bool {
        let interruption = display.isLive ? Interruption() : nil
        defer { display.clear() }
        var pace = PollPace()
        while true {
            pace.ask()
            // Ask before requesting the list, so that the list contains everything the scan found.
            let health = needsScan ? try await link.client.health() : nil
            let hasScanned = health?.scanned ?? true
            obstacle = hasScanned ? nil : health?.problems.first ?? "its first scan has not ended"
            var isOver = try await look(hasScanned: hasScanned, now: pace.elapsed)
            if isOver && named == nil {
                // Files that came and ended between two polls are only in the complete list.
                try await readAll(atMost: nil)
                isOver = try look(at: everything, hasScanned: hasScanned, now: pace.elapsed)
                if isOver { try await countDone() }
            }
            if isOver {
                tellTheRest()
                return true
            }
            // Everything is final and only has to stay so for a moment: no time-out.
            if let timeout, pace.elapsed >= timeout, !course.isCalming { return false }
            if let signal = interruption?.signal {
                display.clear()
                Interruption.end(by: signal)
            }
            try await pace.rest(until: course.isCalming ? nil : timeout)
        }
    }

    /// Polls the agent and shows the changes.
    ///
    /// - Returns: Whether the wait is over.
    private mutating func look(hasScanned: Bool, now: Duration) async throws -> Bool {
        try look(at: try await readEntries(), hasScanned: hasScanned, now: now)
    }

    private mutating func look(at entries: [any SubjectEntry], hasScanned: Bool, now: Duration) throws -> Bool {
        let place = link.place
        let look = course.look(
            at: entries, hasScanned: hasScanned, exists: { place.kind(of: $0) != .missing }, now: now)
        try show(look)
        return look.isOver
    }

    /// All relevant files and sources: everything at the first poll, then only possible changes.
    private mutating func readEntries() async throws -> [any SubjectEntry] {
        if let named { return try await readNamed(named) }
        // Some unfinished files suffice to see that the wait is not over.
        let limit = countsDone ? Follower<FileEntry>.mostActive : nil
        guard hasReadAll else {
            try await readAll(atMost: limit)
            return everything
        }
        _ = try await fileFollower.readActive(atMost: limit)
        _ = try await postFollower.readActive()
        for path in course.unknown.prefix(Self.mostQuestions) where !namedSources.contains(path) {
            if let file = try await link.client.file(at: path) { fileFollower.note(file) }
        }
        return everything
    }

    private mutating func readNamed(_ named: [RelativePath]) async throws -> [any SubjectEntry] {
        var entries: [any SubjectEntry] = []
        for path in named {
            if let file = try await link.client.file(at: path) { entries.append(file) }
        }
        guard !namedSources.isEmpty else { return entries }
        try await postFollower.readAll()
        return entries + postFollower.mirror.entries.filter { $0.relativePath.map(namedSources.contains) ?? false }
    }

    private mutating func readAll(atMost limit: Int?) async throws {
        // Read sources first: a source taken in between must not hide its files.
        try await postFollower.readAll()
        let states = countsDone ? Set(FileState.allCases.filter { $0 != .done }) : nil
        try await fileFollower.readAll(in: states, atMost: limit)
        hasReadAll = true
    }

    /// Counts the finished files that were not read, except those of drafts.
    private mutating func countDone() async throws {
        guard countsDone else { return }
        let counted = try await fileFollower.count(.done)
        let groups = SourceGroups(postFollower.mirror.entries)
        var ofDrafts = 0
        for draft in groups.sources where draft.isDraft {
            guard let directory = draft.relativePath else { continue }
            ofDrafts += try await link.client.files(in: [.done], below: directory)
                .count { groups.owner(of: $0) == draft.id }
        }
        doneCount = max(0, counted - ofDrafts)
    }

    /// Waited-for files and sources. Excludes drafts unless the user named them, all files of drafts, and unfinished
    /// files of sources that are final themselves.
    private var everything: [any SubjectEntry] {
        let groups = SourceGroups(postFollower.mirror.entries)
        let isWaitedFor = { (source: SourceEntry) in
            !source.isDraft || source.relativePath.map(namedSources.contains) ?? false
        }
        let atRest = Set(groups.sources.filter { $0.isDraft || $0.isFinal }.map(\.id))
        let drafts = Set(groups.sources.filter(\.isDraft).map(\.id))
        let files = fileFollower.mirror.entries.filter { file in
            guard let owner = groups.owner(of: file) else { return true }
            return file.isFinal ? !drafts.contains(owner) : !atRest.contains(owner)
        }
        return files + groups.sources.filter(isWaitedFor)
    }

    /// Number of files and sources by outcome.
    var summary: FilesSummary {
        let (files, sources) = split(course.known)
        return FilesSummary(
            files, sources: sources, counts: countsDone ? [FileState.done.rawValue: doneCount] : nil)
    }

    /// Number of files and posts that have not finished, and of all.
    var progress: (pending: Int, all: Int) {
        let report = WaitReport(course, isOver: false)
        let listed = (report.pending.count, report.pending.count + report.done.count + report.failed.count)
        guard countsDone, let counts = fileFollower.counts else { return listed }
        let active = counts.reduce(0) { $0 + (FileState(rawValue: $1.key)?.isFinal == false ? $1.value : 0) }
        let pending = fileFollower.isCut ? active : report.pending.count
        let done = max(report.done.count, counts[FileState.done.rawValue] ?? 0)
        return (pending, pending + done + report.failed.count)
    }

    /// Separates files from sources.
    private func split(_ entries: [any SubjectEntry]) -> (files: [FileEntry], sources: [SourceEntry]) {
        (entries.compactMap { $0 as? FileEntry }, entries.compactMap { $0 as? SourceEntry })
    }

    private mutating func show(_ look: WaitCourse.Look) throws {
        let outputLook = display.look
        tell(look.ended.filter { !$0.isDone })
        let (files, sources) = split(course.shown)
        try display.show(
            files, sources: sources, moved: look.moved,
            ended: look.ended.filter(\.isDone).map { $0.outcomeLine(outputLook) },
            last: { _, board in board.total(files, sources: sources) })
    }

    /// Prints to stderr the files and sources with another outcome than done.
    private mutating func tell(_ entries: [any SubjectEntry]) {
        let new = entries.filter { told.insert($0.path + $0.state).inserted }
        guard !new.isEmpty else { return }
        display.clear()
        let look = Output.error.look(link.surroundings.environment)
        for entry in new { Output.error.attempt(entry.outcomeLine(look)) }
    }

    /// Prints the failures from before the wait, and the files that vanished.
    private mutating func tellTheRest() {
        let rest = course.known.filter { $0.isFinal && !$0.isDone && !told.contains($0.path + $0.state) }
        tell(Array(rest.prefix(Self.longestList)))
        if rest.count > Self.longestList {
            Output.error.attempt("and \(rest.count - Self.longestList) more; `outbox status --all` lists them")
        }
        display.clear()
        for path in course.unknown {
            Output.error.attempt(
                "vanished \(DisplayText.escaped(path.description)): the file was removed before the agent saw it")
        }
    }
}
