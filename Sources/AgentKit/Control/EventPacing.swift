import UploadCore

/// Decides which reports become events: every change of state at once, progress in steps.
///
/// What it remembers is bounded. A path that was forgotten is told once more, which harms nobody.
struct EventPacing: Sendable {
    /// What was told of a path last.
    private struct Told {
        var state: FileState
        var key: ContentKey?
        var error: FileError?
        var nextAttemptAt: WallTime?
        var progress: Double
        var at: MonotonicTime
    }

    /// The shortest time between two progress events of a path.
    static let pause = Duration.seconds(1)
    /// Within this time progress is told even where it is less than 1 %: so that it can be seen that it goes on.
    static let longest = Duration.seconds(5)
    /// Paths in one generation: at least so many and at most twice as many are remembered.
    private let generation: Int

    /// Paths told of lately, and those told of before them.
    private var recent: [RelativePath: Told] = [:]
    private var older: [RelativePath: Told] = [:]

    init(generation: Int = 4096) {
        self.generation = generation
    }

    /// How many paths are remembered.
    var count: Int { recent.count + older.count }

    /// The event that a report becomes; nil where it is none.
    mutating func content(for report: FileReport, now: MonotonicTime) -> EventHub.Content? {
        let new = Told(
            state: report.state, key: report.key, error: report.error, nextAttemptAt: report.nextAttemptAt,
            progress: report.progress, at: now)
        guard let last = recent[report.path] ?? older[report.path], Self.isSameState(last, new) else {
            remember(new, report.path)
            return .state(report)
        }
        guard Self.isStep(from: last, to: new) else { return nil }
        remember(new, report.path)
        return .progress(report)
    }

    mutating func forget(_ path: RelativePath) {
        recent[path] = nil
        older[path] = nil
    }

    private static func isSameState(_ last: Told, _ new: Told) -> Bool {
        last.state == new.state && last.key == new.key && last.error == new.error
            && last.nextAttemptAt == new.nextAttemptAt
    }

    private static func isStep(from last: Told, to new: Told) -> Bool {
        guard new.progress != last.progress, new.at - last.at >= pause else { return false }
        let percent = { (progress: Double) in (progress * 100).rounded(.down) }
        return percent(new.progress) != percent(last.progress) || new.at - last.at >= longest
    }

    private mutating func remember(_ told: Told, _ path: RelativePath) {
        older[path] = nil
        recent[path] = told
        guard recent.count >= generation else { return }
        older = recent
        recent = [:]
    }
}
