import UploadCore

/// When sidecars are written: the first report of a path and final states at once, anything else at most twice a
/// second, and never the same twice.
struct SidecarPacing: Sendable {
    /// Shortest time between two writes that are not final.
    static let interval = Duration.milliseconds(500)

    private struct Entry {
        var written: FileReport?
        var earliest: MonotonicTime
        var pending: FileReport?
    }

    private var entries: [RelativePath: Entry] = [:]
    private var delayed: Set<RelativePath> = []

    /// Takes a report in.
    ///
    /// - Returns: whether it is to be written now.
    mutating func take(_ report: FileReport, now: MonotonicTime) -> Bool {
        var entry = entries[report.path] ?? Entry(earliest: now)
        defer { entries[report.path] = entry }
        if let written = entry.written, Self.sayTheSame(written, report) {
            entry.pending = nil
            delayed.remove(report.path)
            return false
        }
        if report.state.isFinal || entry.earliest <= now {
            delayed.remove(report.path)
            return true
        }
        entry.pending = report
        delayed.insert(report.path)
        return false
    }

    /// Notes that a report was written.
    mutating func wrote(_ report: FileReport, now: MonotonicTime) {
        if report.state.isFinal {
            entries[report.path] = nil
        } else {
            entries[report.path] = Entry(written: report, earliest: now + Self.interval)
        }
    }

    /// Forgets a path.
    mutating func forget(_ path: RelativePath) {
        entries[path] = nil
        delayed.remove(path)
    }

    /// Takes out the reports whose time has come.
    mutating func due(now: MonotonicTime) -> [FileReport] {
        let paths = delayed.filter { path in entries[path].map { $0.earliest <= now } ?? true }
        delayed.subtract(paths)
        return paths.compactMap { entries[$0]?.pending }
    }

    /// When the next report is due; nil when none waits.
    var nextDeadline: MonotonicTime? { delayed.compactMap { entries[$0]?.earliest }.min() }

    private static func sayTheSame(_ one: FileReport, _ other: FileReport) -> Bool {
        var one = one
        one.updatedAt = other.updatedAt
        one.bytesPerSecond = other.bytesPerSecond
        return one == other
    }
}
