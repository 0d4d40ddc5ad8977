import UploadCore

/// The last count of the paths in final states. Counting reads all of them, and clients that watch ask ten times a
/// second.
struct RecentCounts: Sendable {
    /// How long a count is good enough.
    static let lifetime = Duration.seconds(5)

    private var last: (at: MonotonicTime, counts: [FileState: Int])?

    /// Returns the last count; `nil` if it is too old.
    func counts(at now: MonotonicTime) -> [FileState: Int]? {
        last.flatMap { now - $0.at < Self.lifetime ? $0.counts : nil }
    }

    mutating func store(_ counts: [FileState: Int], at now: MonotonicTime) { last = (now, counts) }
}
