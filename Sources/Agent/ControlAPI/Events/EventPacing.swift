import Reports
import UploadCore

/// Why a report becomes an event.
package enum ReportNews: Equatable, Sendable {
    /// Nothing is remembered of the subject.
    case first
    /// The state, or a detail of the state, changed.
    case state
    /// More is known of the content.
    case facts
    /// The subject made progress.
    case progress
}

/// Decides which reports of files, or of posts, become events: changes of state at once, progress in steps.
///
/// The memory is bounded. A forgotten report is published again, which is harmless.
struct EventPacing<Report: PacedReport>: Sendable {
    /// The last published report of a subject.
    private struct Told {
        var headline: Report.Headline
        var facts: Report.Facts
        var details: Report.Details
        var step: Double
        var at: MonotonicTime
    }

    /// Minimum time between two progress events of a subject.
    private static var pause: Duration { .seconds(1) }
    /// After this time, progress of less than 1 % is published too, so that users see activity.
    private static var longest: Duration { .seconds(5) }

    private var told: RecentTable<Report.PacingKey, Told>

    /// - Parameter generation: number of remembered subjects, at least this many and at most twice as many.
    init(generation: Int) {
        told = RecentTable(generation: generation)
    }

    /// Number of remembered subjects.
    var count: Int { told.count }

    /// Returns what is new in a report; `nil` if there is nothing to publish.
    mutating func news(in report: Report, now: MonotonicTime) -> ReportNews? {
        let new = Told(
            headline: report.headline, facts: report.facts, details: report.details, step: report.step, at: now)
        return told.update(report.pacingKey) { last in
            guard let news = Self.news(from: last, to: new) else { return nil }
            last = new
            return news
        }
    }

    mutating func forget(_ key: Report.PacingKey) { told[key] = nil }

    private static func news(from last: Told?, to new: Told) -> ReportNews? {
        guard let last else { return .first }
        if last.headline != new.headline { return .state }
        if last.facts != new.facts { return .facts }
        return isStep(from: last, to: new) ? .progress : nil
    }

    private static func isStep(from last: Told, to new: Told) -> Bool {
        let time = new.at - last.at
        guard time >= pause else { return false }
        if last.details != new.details { return true }
        let percent = { (step: Double) in (step * 100).rounded(.down) }
        return new.step != last.step && (percent(new.step) != percent(last.step) || time >= longest)
    }
}

/// A report that `EventPacing` compares with the last published one.
protocol PacedReport: Sendable {
    associatedtype PacingKey: Hashable & Sendable
    associatedtype Headline: Equatable & Sendable
    associatedtype Facts: Equatable & Sendable
    associatedtype Details: Equatable & Sendable

    /// Identifies the subject.
    var pacingKey: PacingKey { get }
    /// Changes of the headline are published at once.
    var headline: Headline { get }
    /// What is known of the content. Changes are published at once: a subject at rest makes no progress with which
    /// readers would learn of them.
    var facts: Facts { get }
    /// Changes of the details are published like progress.
    var details: Details { get }
    /// Progress, 0…1, published in steps.
    var step: Double { get }
}

/// The part of a file's report whose changes readers want at once.
struct FileHeadline: Equatable, Sendable {
    var state: FileState
    var key: ContentKey?
    var error: FileError?
    var nextAttemptAt: WallTime?
}

extension FileReport: PacedReport {
    var pacingKey: RelativePath { path }

    var headline: FileHeadline {
        FileHeadline(state: state, key: key, error: error, nextAttemptAt: nextAttemptAt)
    }

    /// Each change of a file is in its headline, its facts or its step.
    var details: Never? { nil }

    /// First the hashed share, then the sent share.
    var step: Double {
        guard let hashed, let size, size > 0 else { return shareOnItsWay }
        return Double(hashed) / Double(size)
    }
}

extension SourceReport: PacedReport {
    /// A file of the post.
    struct FileDetail: Equatable, Sendable {
        var path: RelativePath
        var state: FileState
        var error: FileError?
    }

    var pacingKey: String { id }

    /// The report without files, progress and time.
    var headline: SourceReport {
        var report = self
        report.files = []
        report.size = 0
        report.progress = 0
        report.updatedAt = WallTime(milliseconds: 0)
        return report
    }

    /// Files have facts, posts have none.
    var facts: Never? { nil }

    /// The states of the files. The files have their own events, and a post may have fifty files.
    var details: [FileDetail] { files.map { FileDetail(path: $0.path, state: $0.state, error: $0.error) } }

    var step: Double { progress }
}
