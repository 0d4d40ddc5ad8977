import UploadCore

/// How many files are in which state, how fast they go and how long they take.
public struct FilesSummary: Equatable, Sendable {
    /// Number of files by state, every state included.
    public private(set) var counts: [String: Int]
    /// Number of sources by state.
    public private(set) var sources: [String: Int] = [:]
    /// Bytes a second over all uploads.
    public private(set) var speed: UInt64 = 0
    /// Bytes that are not acknowledged yet, of files that are not final.
    public private(set) var bytesLeft: UInt64 = 0

    /// States in the order a person asks for them: what goes on, what waits, what went wrong, what is through.
    private static let order: [FileState] = [
        .uploading, .verifying, .hashing, .settling, .queued, .waiting, .paused, .signedOut, .failed, .rejected,
        .cancelled, .done,
    ]

    /// Sums up files; several paths with one content count as one upload.
    ///
    /// - Parameters:
    ///   - files: those to sum up; where `counts` is given, those that are not final will do.
    ///   - sources: the sources to count; their bytes are those of their files.
    ///   - counts: number of files by state, where that is known of more files than these.
    public init(_ files: [FileEntry], sources: [SourceEntry] = [], counts known: [String: Int]? = nil) {
        counts = Dictionary(uniqueKeysWithValues: Self.order.map { ($0.rawValue, 0) })
        var seen: Set<String> = []
        for file in files {
            counts[file.state, default: 0] += 1
            guard !file.isFinal, seen.insert(file.key ?? "path " + file.path).inserted else { continue }
            speed = speed.addingReportingOverflow(file.speed ?? 0).partialValue
            bytesLeft = bytesLeft.addingReportingOverflow(Self.left(of: file)).partialValue
        }
        for source in sources { self.sources[source.state, default: 0] += 1 }
        if let known { counts.merge(known) { $1 } }
    }

    private static func left(of file: FileEntry) -> UInt64 {
        let share = 1 - min(max(file.shareOnItsWay, 0), 1)
        return UInt64(exactly: (share * Double(file.size ?? 0)).rounded(.down)) ?? 0
    }

    /// Seconds the rest takes at the present speed; nil where that can't be told.
    public var secondsLeft: UInt64? {
        speed > 0 && bytesLeft > 0 ? bytesLeft / speed : nil
    }

    /// One line: `3 uploading, 2 queued, 120 done — 12.3 MB/s, 2 min left`; where there are sources too,
    /// `2 sources: 1 uploading, 1 draft; files: 3 uploading, …`.
    public func line(_ look: ConsoleLook) -> String {
        let files = Self.listed(counts)
        var text = files.isEmpty ? "no files yet" : files
        if !sources.isEmpty {
            let number = SourceEntry.count(sources.values.reduce(0, +), "source")
            text = "\(number): \(Self.listed(sources))" + (files.isEmpty ? "" : "; files: " + files)
        }
        var pace: [String] = []
        if speed > 0 { pace.append(Quantity.speed(speed)) }
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
