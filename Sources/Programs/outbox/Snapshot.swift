import Agent
import Console
import ControlAPI
import Reports
import UploadCore

/// Files and sources at one moment.
struct Snapshot {
    /// Whether the snapshot comes from a running agent.
    let isRunning: Bool
    /// Problems that need attention, one line each.
    let problems: [String]
    /// Number of directories with new files that the agent has not taken yet.
    var deferred = 0
    /// Bytes that need not be sent, because files were made smaller.
    var saved: UInt64 = 0
    /// The files, ordered by path.
    var files: [FileEntry]
    /// Every source, ordered by directory.
    let sources: [SourceEntry]
    /// Number of all files by state; nil if `files` has them all.
    var counts: [String: Int]?
    /// The dashboard's URL without its secret; nil if no agent runs, or none listens.
    var dashboard: String?

    /// Asks the agent; reads the ledger if no agent runs.
    ///
    /// - Parameters:
    ///   - words: The files and sources to return; empty for all.
    ///   - limit: The maximum number of files of each state; nil for all.
    /// - Throws: `CommandFailure.noSuchFile` for a word that names nothing the agent knows.
    static func take(named words: [String], atMost limit: Int?, _ link: AgentLink) async throws -> Snapshot {
        do {
            return try await running(named: words, atMost: limit, link)
        } catch ControlError.notRunning {
            let (files, sources) = try OfflineFiles.entries(configuration: link.configuration)
            return try Snapshot(isRunning: false, problems: [], files: files, sources: sources)
                .part(named: words, link).cut(atMost: limit)
        }
    }

    /// Asks the agent; see `take`.
    static func running(
        named words: [String], atMost limit: Int? = nil, _ link: AgentLink
    ) async throws -> Snapshot {
        let health = try await link.client.health()
        let deferred = health.deferred ?? 0
        guard words.isEmpty else {
            var finder = TargetFinder(link)
            let (files, sources) = try await finder.entries(named: words)
            return Snapshot(
                isRunning: true, problems: health.problems, deferred: deferred, saved: health.saved ?? 0, files: files,
                sources: sources
            ).cut(atMost: limit)
        }
        let list: EntryList<FileEntry> = try await link.client.entries(ListQuery(atMost: limit))
        return Snapshot(
            isRunning: true, problems: health.problems, deferred: deferred, saved: health.saved ?? 0,
            files: list.entries, sources: try await link.client.sources(), counts: list.counts,
            dashboard: link.dashboard.readAddress())
    }

    /// Returns the files and sources that words name, ordered by path. A source includes its files.
    ///
    /// - Throws: `CommandFailure.noSuchFile` for a word that names nothing the agent knows.
    private func part(named words: [String], _ link: AgentLink) throws(CommandFailure) -> Snapshot {
        if words.isEmpty { return self }
        let names = FileNames(place: link.place, files: files)
        var targets: Set<WaitTarget> = []
        for word in words {
            switch names.find(link.surroundings.bytes(of: word)) {
            case .known(let paths): targets.formUnion(paths.map(WaitTarget.file))
            case .below(let directory): targets.insert(.below(directory))
            case .unseen(let path) where link.configuration.neverTakes(path):
                throw link.neverTaken(word)
            case .unseen: throw link.notSeenYet(word)
            case .nothing: throw link.noSuchFile(word)
            }
        }
        let isNamed = { (path: RelativePath?) in path.map { path in targets.contains { $0.includes(path) } } ?? false }
        let below = targets.compactMap { if case .below(let directory) = $0 { directory } else { nil } }
        return Snapshot(
            isRunning: isRunning, problems: problems,
            files: files.filter { file in isNamed(file.relativePath) || below.contains(where: file.isWithin) },
            sources: sources.filter { isNamed($0.relativePath) })
    }

    /// Returns at most so many files of each state, with the number of all files.
    private func cut(atMost limit: Int?) -> Snapshot {
        guard let limit else { return self }
        var part = self
        part.counts = FilesSummary(files).counts
        part.files = files.latest(limit)
        return part
    }

    /// The output of `--json`.
    var report: StatusReport {
        StatusReport(
            running: isRunning, problems: problems, files: files, sources: sources,
            summary: FilesSummary(files, counts: counts).counts, deferred: deferred,
            saved: saved, dashboard: dashboard)
    }
}

/// The output of `status --json`.
struct StatusReport: Encodable, Equatable {
    let running: Bool
    let problems: [String]
    let files: [FileEntry]
    let sources: [SourceEntry]
    /// Number of files by state.
    let summary: [String: Int]
    /// Number of directories with new files that the agent has not taken yet; these are not in `summary`.
    let deferred: Int
    /// Bytes that need not be sent, because files were made smaller, since the agent started.
    let saved: UInt64
    /// The dashboard's URL without its secret: people paste this output into reports.
    let dashboard: String?
}
