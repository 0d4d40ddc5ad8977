import UploadCore

/// When sidecars are written: the first of a file or source and final states at once, anything else at most twice a
/// second, and never the same twice.
struct SidecarPacing: Sendable {
    /// Shortest time between two writes that are not final.
    static let interval = Duration.milliseconds(500)

    /// Time until a write that failed is tried again.
    static let retry = Duration.seconds(3)

    private struct Entry {
        var written: Sidecar?
        var earliest: MonotonicTime
        var pending: Sidecar?
        /// The final state that was written: it is not at once again that a source's other members change after it.
        var end: SourceState?
    }

    private var entries: [SidecarSubject: Entry] = [:]
    private var delayed: Set<SidecarSubject> = []

    /// Takes in what is to be told.
    ///
    /// - Returns: whether it is to be written now.
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

    /// Notes that something was written.
    mutating func wrote(_ sidecar: Sidecar, now: MonotonicTime) {
        let earliest = now + Self.interval
        switch sidecar {
        case _ where !sidecar.state.isFinal: entries[sidecar.subject] = Entry(written: sidecar, earliest: earliest)
        // Of all the files that are through nothing is kept, of sources no report: they are many, or large.
        case .file: entries[sidecar.subject] = nil
        case .source: entries[sidecar.subject] = Entry(earliest: earliest, end: sidecar.state)
        }
    }

    /// Notes that something could not be written: it is due again after a while, unless something newer comes first.
    mutating func failed(_ sidecar: Sidecar, now: MonotonicTime) {
        entries[sidecar.subject] = Entry(earliest: now + Self.retry, pending: sidecar)
        delayed.insert(sidecar.subject)
    }

    /// Forgets a file or source.
    mutating func forget(_ subject: SidecarSubject) {
        entries[subject] = nil
        delayed.remove(subject)
    }

    /// Takes out what is to be told now.
    mutating func due(now: MonotonicTime) -> [Sidecar] {
        let subjects = delayed.filter { subject in entries[subject].map { $0.earliest <= now } ?? true }
        delayed.subtract(subjects)
        return subjects.compactMap { entries[$0]?.pending }
    }

    /// When the next is due; nil when none waits.
    var nextDeadline: MonotonicTime? { delayed.compactMap { entries[$0]?.earliest }.min() }
}
