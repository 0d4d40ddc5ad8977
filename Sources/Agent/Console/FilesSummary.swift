import Text
package import Reports
import UploadCore

/// Counts files by state, and sums their speed and remaining bytes.
package struct FilesSummary: Equatable, Sendable {
    /// Number of files by state, every state included.
    package private(set) var counts: [String: Int]
    /// Number of sources by state.
    private var sources: [String: Int] = [:]
    /// Total upload speed in bytes per second.
    private(set) var speed: UInt64 = 0
    /// Number of directories with new files that are counted nowhere yet.
    private var deferred = 0
    /// Bytes that need not be sent, because files were made smaller.
    private var saved: UInt64 = 0
    /// Bytes not yet acknowledged, in files that are not final.
    private var bytesLeft: UInt64 = 0

    /// States in the order of display: active, waiting, failed, completed.
    private static let order: [FileState] = [
        .uploading, .verifying, .processing, .hashing, .settling, .queued, .waiting, .paused, .signedOut, .failed,
        .rejected, .cancelled, .done,
    ]

    /// Sums up files. Several paths with the same content count as one upload.
    ///
    /// - Parameters:
    ///   - files: The files to sum up. If `counts` is given, the files that are not final suffice. If some of these are
    ///     missing too, the remaining time is unknown.
    ///   - sources: The sources to count. Their bytes are already counted in their files.
    ///   - counts: Number of files by state, if known for more files than these.
    ///   - deferred: Number of directories with new files that the agent has not taken yet.
    ///   - saved: Bytes that need not be sent, because files were made smaller.
    package init(
        _ files: [FileEntry], sources: [SourceEntry] = [], counts known: [String: Int]? = nil, deferred: Int = 0,
        saved: UInt64 = 0
    ) {
        self.saved = saved
        self.deferred = deferred
        counts = Dictionary(uniqueKeysWithValues: Self.order.map { ($0.rawValue, 0) })
        var seen: Set<String> = []
        for file in files {
            counts[file.state, default: 0] += 1
            guard !file.isFinal, seen.insert(file.key ?? "path " + file.path).inserted else { continue }
            addPace(of: file)
        }
        for source in sources { self.sources[source.state, default: 0] += 1 }
        guard let known else { return }
        // The bytes of files that are not listed are unknown.
        if known.contains(where: { $1 > counts[$0] ?? 0 && FileState(rawValue: $0)?.isFinal == false }) {
            bytesLeft = 0
        }
        counts.merge(known) { $1 }
    }

    /// Adds speed and remaining bytes of sources whose files are not among the summed files.
    mutating func addPace(of sources: [SourceEntry]) {
        for source in sources where !source.isFinal { addPace(of: source) }
    }

    private mutating func addPace(of entry: some SubjectEntry) {
        let share = 1 - min(max(entry.shareOnItsWay, 0), 1)
        let left = UInt64(exactly: (share * Double(entry.knownSize ?? 0)).rounded(.down)) ?? 0
        speed = speed.addingReportingOverflow(entry.speed ?? 0).partialValue
        bytesLeft = bytesLeft.addingReportingOverflow(left).partialValue
    }

    /// Remaining seconds at the current speed; nil if unknown.
    var secondsLeft: UInt64? {
        speed > 0 && bytesLeft > 0 ? bytesLeft / speed : nil
    }

    /// One line: `3 uploading, 2 queued, 120 done — 12.3 MB/s, 34 MB saved, 2 min left`; with posts, `2 posts: 1 uploading, 1
    /// draft; files: 3 uploading, …`; with deferred files, `1024 hashing, and new files in 12 directories`.
    package func line(_ look: ConsoleLook) -> String {
        let files = Self.listed(counts)
        var text = files.isEmpty ? "no files yet" : files
        if !sources.isEmpty {
            let number = Quantity.count(sources.values.reduce(0, +), "post")
            text = "\(number): \(Self.listed(sources))" + (files.isEmpty ? "" : "; files: " + files)
        }
        if deferred > 0 { text += ", and new files in \(deferred) director\(deferred == 1 ? "y" : "ies")" }
        var pace: [String] = []
        if speed > 0 { pace.append(Quantity.speed(speed)) }
        if saved > 0 { pace.append(Quantity.size(saved) + " saved") }
        if let secondsLeft { pace.append(Quantity.duration(seconds: secondsLeft) + " left") }
        return pace.isEmpty ? text : text + " \(look.dash) " + pace.joined(separator: ", ")
    }

    private static func listed(_ counts: [String: Int]) -> String {
        let known = order.map(\.rawValue)
        let others = counts.keys.filter { !known.contains($0) }.sorted()
        return (known + others).compactMap { state in
            counts[state].flatMap { $0 > 0 ? "\($0) \(state)" : nil }
        }.joined(separator: ", ")
    }
}
