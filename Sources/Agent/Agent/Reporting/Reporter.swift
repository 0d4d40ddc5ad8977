import AgentConfiguration
import ControlAPI
import Logging
import Reports
import Sidecars
import UploadCore

/// Reports files and posts: sidecar and event; and tells of outcomes: event and log. Nothing follows from a report,
/// except that posts of reported files are reported soon.
struct Reporter {
    private let sidecars: SidecarWriter
    private let events: EventHub
    private let logger: Logger
    private var outcomes = OutcomeLog()
    /// Files, and descriptions of posts, whose sidecars are written once they are back.
    private var withheld: Set<RelativePath> = []
    private var pace = ReportPace()

    /// Whether some sidecars wait for the return of their files.
    var withholds: Bool { !withheld.isEmpty }

    init(sidecars: SidecarWriter, events: EventHub, logger: Logger) {
        self.sidecars = sidecars
        self.events = events
        self.logger = logger
    }

    // MARK: Reports

    /// When `reportDelayed` is due; `nil` if no report is delayed.
    var deadline: MonotonicTime? { pace.deadline }

    /// Reports paths, soon if many others are reported. Ignores unknown paths.
    ///
    /// - Returns: the directories of the posts that these files belong to.
    mutating func report(_ paths: some Sequence<RelativePath>, _ world: ReportWorld) -> Set<RelativePath> {
        var posts: Set<RelativePath> = []
        for path in paths {
            guard let record = world.record(of: path), pace.admits(path, record.state, now: world.now) else { continue }
            if let directory = report(record, world) { posts.insert(directory) }
        }
        return posts
    }

    /// Makes the delayed reports.
    ///
    /// - Returns: the directories of the posts that these files belong to.
    mutating func reportDelayed(_ world: ReportWorld) -> Set<RelativePath> {
        var posts: Set<RelativePath> = []
        for path in pace.takeDelayed() {
            // A final state is reported once it is durable.
            guard let record = world.record(of: path), !record.state.isFinal else { continue }
            if let directory = report(record, world) { posts.insert(directory) }
        }
        return posts
    }

    /// Makes one report now.
    ///
    /// - Returns: the directory of the post that the file belongs to; `nil` if it belongs to none.
    private mutating func report(_ record: DropRecord, _ world: ReportWorld) -> RelativePath? {
        let report = world.report(of: record)
        if hasPlaceForSidecar(record.path, world) { sidecars.note(report) }
        events.publish(report)
        return world.posts.directory(of: record)
    }

    /// Publishes the progress of paths within a fragment. Sidecars show only whole fragments.
    func reportProgress(of paths: some Sequence<RelativePath>, _ world: ReportWorld) {
        for path in paths {
            if let record = world.book.drops[path] { events.publish(world.report(of: record)) }
        }
    }

    /// Reports a post. Ignores directories that are not posts.
    mutating func report(post directory: RelativePath, _ world: ReportWorld) {
        guard let report = world.report(ofPost: directory) else { return }
        if hasPlaceForSidecar(PostPlaces.description(of: directory), world) { sidecars.note(source: report) }
        events.publish(source: report)
    }

    /// Brings the sidecars of posts in line with the ledger at the start.
    mutating func restorePosts(_ world: ReportWorld) {
        for directory in world.posts.directories {
            guard let report = world.report(ofPost: directory),
                hasPlaceForSidecar(PostPlaces.description(of: directory), world)
            else { continue }
            if report.state.isFinal { sidecars.repair(source: report) } else { sidecars.note(source: report) }
        }
    }

    /// Tells of a row of the journal. All other reports of the same state add nothing but the sidecar.
    mutating func tell(_ entry: JournalEntry, _ world: ReportWorld) {
        let row = entry.row
        switch row.subject {
        case .file, .portrait:
            // The file may be under way again.
            let record = world.record(of: row.path).flatMap { $0.finishedAt == row.time ? $0 : nil }
            let report = record.map(world.report(of:)) ?? world.context.report(row)
            log(row, world.now)
            events.publish(report, outcome: entry.number)
        case .post:
            events.publish(
                source: world.report(ofPost: row.path) ?? world.context.report(ofPost: row), outcome: entry.number)
        case .agent: events.pass(outcome: entry.number)
        }
    }

    private mutating func log(_ row: JournalRow, _ now: MonotonicTime) {
        for line in outcomes.lines(for: row, now: now) {
            logger.log(
                level: Logger.Level(rawValue: line.level.rawValue) ?? .info, "\(line.message)",
                metadata: line.metadata.mapValues { .string($0) })
        }
    }

    // MARK: Log

    /// Logs that a `source.toml` can't be used.
    func logRejection(ofPost directory: RelativePath, _ error: FileError) {
        logger.warning("a post is rejected", metadata: ["source": "\(directory)", "reason": "\(error.message)"])
    }

    /// Logs the end of a post's commit.
    func logCommit(ofPost directory: RelativePath, _ outcome: CommitOutcome) {
        switch outcome {
        case .done(let url):
            logger.info("a post is committed", metadata: ["source": "\(directory)", "url": "\(url ?? "-")"])
        case .taken(let latest):
            logger.warning(
                "the server has other files under this revision of a post; the agent commits the post under a new number",
                metadata: ["source": "\(directory)", "latest": "\(latest)"])
        case .refused(let error), .forgotten(let error):
            logger.warning(
                "a post was not committed", metadata: ["source": "\(directory)", "reason": "\(error.message)"])
        }
    }

    // MARK: Sidecars of absent files

    /// Whether a sidecar may be written beside a path. Returns false while the file is on an unmounted file system or
    /// in another outbox, because the sidecar would end up in the empty mount point. `writeWithheld` then writes the
    /// sidecar.
    private mutating func hasPlaceForSidecar(_ path: RelativePath, _ world: ReportWorld) -> Bool {
        guard world.book.isMissing(path), sidecars.standBesideFiles else { return true }
        withheld.insert(path)
        return false
    }

    /// Writes the sidecars of files that are back.
    mutating func writeWithheld(_ world: ReportWorld) {
        let paths = withheld
        withheld = []
        for path in paths where hasPlaceForSidecar(path, world) {
            if let directory = world.posts.directory(describedBy: path), world.posts[directory] != nil {
                report(post: directory, world)
            } else if let record = world.record(of: path), !record.isTrace {
                sidecars.note(world.report(of: record))
            }
        }
    }
}
