import UploadCore

/// When sidecars are written: the first report of a path and final states at once, anything else at most twice a
/// second, and never the same twice.
struct SidecarPacing: Sendable {
    /// Shortest time between two writes that are not final.
    static let interval = Duration.milliseconds(500)

    /// Time until a write that failed is tried again.
    static let retry = Duration.seconds(3)

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

    /// Notes that a report could not be written: it is due again after a while, unless a newer one comes first.
    mutating func failed(_ report: FileReport, now: MonotonicTime) {
        entries[report.path] = Entry(written: nil, earliest: now + Self.retry, pending: report)
        delayed.insert(report.path)
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
