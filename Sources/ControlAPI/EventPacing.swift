import Reports
import UploadCore

/// Decides which reports become events: changes of state at once, progress in steps.
///
/// The memory is bounded. A forgotten report is published again, which is harmless.
struct EventPacing: Sendable {
    /// The last published report of a path.
    private struct Told {
        var state: FileState
        var key: ContentKey?
        var error: FileError?
        var nextAttemptAt: WallTime?
        var progress: Double
        var at: MonotonicTime
    }

    /// The last published report of a source.
    private struct ToldSource {
        var report: SourceReport
        var at: MonotonicTime
    }

    /// Minimum time between two progress events of a path.
    static let pause = Duration.seconds(1)
    /// After this time, progress of less than 1 % is published too, so that users see activity.
    static let longest = Duration.seconds(5)

    private var files: RecentTable<RelativePath, Told>
    private var sources: RecentTable<String, ToldSource>

    /// - Parameter generation: number of remembered paths, at least this many and at most twice as many. For sources,
    ///   which are larger and fewer, an eighth of this number.
    init(generation: Int = 4096) {
        files = RecentTable(generation: generation)
        sources = RecentTable(generation: max(1, generation / 8))
    }

    /// Number of remembered paths.
    var count: Int { files.count }

    /// Returns the event for a report; `nil` if the report contains no news.
    mutating func content(for report: FileReport, now: MonotonicTime) -> EventHub.Content? {
        let new = Told(
            state: report.state, key: report.key, error: report.error, nextAttemptAt: report.nextAttemptAt,
            progress: report.shownStep, at: now)
        guard let last = files[report.path], Self.isSameState(last, new) else {
            files[report.path] = new
            return .state(report)
        }
        guard Self.isStep(from: last.progress, to: new.progress, after: new.at - last.at) else { return nil }
        files[report.path] = new
        return .progress(report)
    }

    mutating func forget(_ path: RelativePath) { files[path] = nil }

    /// Whether to publish a report of a source.
    ///
    /// Changes of its files alone are paced like progress: the files have their own events, and a source may have
    /// fifty files.
    mutating func isNews(_ report: SourceReport, now: MonotonicTime) -> Bool {
        if let last = sources[report.id], Self.isSameState(last.report, report) {
            let time = now - last.at
            let isStep = Self.isStep(from: last.report.progress, to: report.progress, after: time)
            guard isStep || (Self.haveMoved(last.report.files, report.files) && time >= Self.pause) else {
                return false
            }
        }
        sources[report.id] = ToldSource(report: report, at: now)
        return true
    }

    mutating func forget(source id: String) { sources[id] = nil }

    private static func isSameState(_ last: Told, _ new: Told) -> Bool {
        last.state == new.state && last.key == new.key && last.error == new.error
            && last.nextAttemptAt == new.nextAttemptAt
    }

    /// Whether two reports of a source agree except for files, progress and time.
    private static func isSameState(_ last: SourceReport, _ new: SourceReport) -> Bool {
        var last = last
        last.files = new.files
        last.size = new.size
        last.progress = new.progress
        last.updatedAt = new.updatedAt
        return last == new
    }

    private static func haveMoved(_ last: [FileReport], _ new: [FileReport]) -> Bool {
        !last.elementsEqual(new) { $0.path == $1.path && $0.state == $1.state && $0.error == $1.error }
    }

    private static func isStep(from last: Double, to new: Double, after time: Duration) -> Bool {
        guard new != last, time >= pause else { return false }
        let percent = { (progress: Double) in (progress * 100).rounded(.down) }
        return percent(new) != percent(last) || time >= longest
    }
}

extension FileReport {
    /// Progress of a file under way: first the hashed share, then the sent share.
    fileprivate var shownStep: Double {
        guard let hashed, let size, size > 0 else { return shareOnItsWay }
        return Double(hashed) / Double(size)
    }
}
