import Reports
import UploadCore

/// Decides when sidecars are written. The first sidecar of a file or source and final states are written at once.
/// Other changes are written at most twice a second, and only if the content differs.
struct SidecarPacing: Sendable {
    /// Minimum time between two writes that are not final.
    static let interval = Duration.milliseconds(500)

    /// Delay before a failed write is retried.
    static let retry = Duration.seconds(3)

    private struct Entry {
        var written: Sidecar?
        var earliest: MonotonicTime
        var pending: Sidecar?
        /// The final state in the sidecar. While it lasts, changes of a source's other members are paced like all
        /// others.
        var end: SourceState?
    }

    private var entries: [SidecarSubject: Entry] = [:]
    private var delayed: Set<SidecarSubject> = []

    /// Accepts a new report.
    ///
    /// - Returns: whether to write the sidecar now.
    mutating func take(_ sidecar: Sidecar, now: MonotonicTime) -> Bool {
        let subject = sidecar.subject
        var entry = entries[subject] ?? Entry(earliest: now)
        defer { entries[subject] = entry }
        if let written = entry.written, written.saysTheSame(as: sidecar) {
            entry.pending = nil
            delayed.remove(subject)
            return false
        }
        let ends = sidecar.state.isFinal && entry.end != sidecar.state
        if ends || entry.earliest <= now {
            delayed.remove(subject)
            return true
        }
        entry.pending = sidecar
        delayed.insert(subject)
        return false
    }

    /// Records a successful write.
    mutating func wrote(_ sidecar: Sidecar, now: MonotonicTime) {
        let earliest = now + Self.interval
        switch sidecar {
        case _ where !sidecar.state.isFinal: entries[sidecar.subject] = Entry(written: sidecar, earliest: earliest)
        // Finished files are numerous, and reports of sources are large. Keep nothing for files, and no report for
        // sources.
        case .file: entries[sidecar.subject] = nil
        case .source: entries[sidecar.subject] = Entry(earliest: earliest, end: sidecar.state)
        }
    }

    /// Records a failed write. The sidecar is due again after a delay, unless a newer report arrives first.
    mutating func failed(_ sidecar: Sidecar, now: MonotonicTime) {
        entries[sidecar.subject] = Entry(earliest: now + Self.retry, pending: sidecar)
        delayed.insert(sidecar.subject)
    }

    /// Forgets a file or source.
    mutating func forget(_ subject: SidecarSubject) {
        entries[subject] = nil
        delayed.remove(subject)
    }

    /// Returns the reports due now and removes them from the delayed ones.
    mutating func due(now: MonotonicTime) -> [Sidecar] {
        let subjects = delayed.filter { subject in entries[subject].map { $0.earliest <= now } ?? true }
        delayed.subtract(subjects)
        return subjects.compactMap { entries[$0]?.pending }
    }

    /// When the next report is due; `nil` if none waits.
    var nextDeadline: MonotonicTime? { delayed.compactMap { entries[$0]?.earliest }.min() }
}
