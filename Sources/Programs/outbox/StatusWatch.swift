import Text
import Console
import ControlAPI
import Reports
import UploadCore

/// `status --watch`: shows changes until interrupted.
struct StatusWatch {
    private let link: AgentLink
    private let names: [String]
    private let json: Bool
    private var display: ProgressDisplay
    private var fileFollower: Follower<FileEntry>
    private var postFollower: Follower<SourceEntry>
    private var states: [String: String]?
    private var lastReport: StatusReport?
    /// Whether earlier failures were already printed.
    private var hasToldFailures = false
    /// Problems already printed.
    private var told: Set<String> = []

    private static let mostFailures = 10

    init(link: AgentLink, names: [String], json: Bool) {
        self.link = link
        self.names = names
        self.json = json
        display = ProgressDisplay(output: json ? nil : .standard, environment: link.surroundings.environment)
        fileFollower = Follower(filesOf: link.client)
        postFollower = Follower(link.client)
    }

    /// Runs until Ctrl-C.
    ///
    /// - Throws: `ControlError.notRunning` when the agent ends.
    mutating func run() async throws {
        let interruption = Interruption()
        defer { display.clear() }
        var pace = PollPace()
        while interruption.signal == nil {
            pace.ask()
            if json {
                try await writeAll()
            } else if names.isEmpty {
                try await lookAtAll()
            } else {
                try await lookAtNamed()
            }
            try await pace.rest()
        }
    }

    /// Requests only active files. The number of ended files comes from the agent's own counts.
    private mutating func lookAtAll() async throws {
        let news = try await fileFollower.readActive(atMost: Follower<FileEntry>.mostActive)
        let posts = try await postFollower.readActive().ended
        let health = try await link.client.health()
        let files = fileFollower.mirror.active
        let look = display.look
        var ended =
            try await earlierFailures() + news.ended.map { $0.outcomeLine(look) } + posts.map { $0.outcomeLine(look) }
        if news.uncounted > 0 { ended.append("and \(news.uncounted) more finished") }
        let active = postFollower.mirror.active
        let summary = FilesSummary(
            files, sources: active, counts: fileFollower.counts, deferred: health.deferred ?? 0,
            saved: health.saved ?? 0)
        try show(files, active, ended: ended, problems: health.problems, summary: summary)
    }

    /// Returns the latest failed or rejected files, once: they need attention at any age.
    private mutating func earlierFailures() async throws -> [String] {
        guard !hasToldFailures else { return [] }
        hasToldFailures = true
        let states: Set<FileState> = [.failed, .rejected]
        let failures: EntryList<FileEntry> = try await link.client.entries(
            ListQuery(states: states, atMost: Self.mostFailures))
        let selection = FileSelection(of: failures.entries, ended: 0, failures: Self.mostFailures)
        let count = states.reduce(0) { $0 + (failures.counts?[$1.rawValue] ?? 0) }
        let leftOut = max(0, count - selection.shown.count)
        let more = leftOut > 0 ? ["and \(leftOut) more failed or rejected: `outbox status` lists them"] : []
        return selection.shown.map { $0.outcomeLine(display.look) } + more
    }

    private mutating func lookAtNamed() async throws {
        var finder = TargetFinder(link)
        let (files, sources) = try await finder.entries(named: names)
        let problems = try await link.client.health().problems
        let look = display.look
        let ended = changed(files + sources as [any SubjectEntry]).filter(\.isFinal).map { $0.outcomeLine(look) }
        try show(
            files, sources, ended: ended, problems: problems, summary: FilesSummary(files, sources: sources))
    }

    /// Prints the whole report if it changed.
    private mutating func writeAll() async throws {
        let report = try await Snapshot.running(named: names, link).report
        guard report != lastReport else { return }
        try Output.standard.write(json: report)
        lastReport = report
    }

    private func changed(_ entries: [any SubjectEntry]) -> [any SubjectEntry] {
        entries.filter { states?[$0.id] != $0.state }
    }

    private mutating func show(
        _ files: [FileEntry], _ sources: [SourceEntry], ended: [String], problems: [String], summary: FilesSummary
    ) throws {
        let all: [any SubjectEntry] = files + sources
        let moved = changed(all).filter { !$0.isFinal }
        states = Dictionary(all.map { ($0.id, $0.state) }) { $1 }
        try display.show(
            files, sources: sources, moved: moved, ended: ended, notes: problems,
            last: { look, _ in summary.line(look) })
        guard !display.isLive else { return }
        for problem in problems where told.insert(problem).inserted {
            Output.error.attempt("outbox: \(DisplayText.escaped(problem))")
        }
    }
}
