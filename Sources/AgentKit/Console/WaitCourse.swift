public import UploadCore

/// What `wait` waits for.
public enum WaitTarget: Hashable, Sendable {
    /// One file, which need not be known yet.
    case file(RelativePath)
    /// Every file below a directory; `.root` stands for all there are.
    case below(RelativePath)
    /// A source by its directory, which is then looked for among what the agent says like a file of that path.
    case source(RelativePath)

    /// Whether a file, or a source by its directory, is meant.
    public func includes(_ path: RelativePath) -> Bool {
        switch self {
        case .file(let file), .source(let file): path == file
        case .below(let directory): path.isWithin(directory)
        }
    }
}

/// Follows the files that are waited for from one look at the agent to the next, and tells when the waiting is over.
///
/// An outcome that was there from the first look on is believed only once it has stood for a moment: the agent may not
/// have noticed yet that a file was dropped or overwritten just before the waiting began.
public struct WaitCourse: Sendable {
    /// What a look at the agent found.
    public struct Look: Sendable {
        /// Files that are in another state than at the last look, and not final.
        public internal(set) var moved: [FileEntry] = []
        /// Files that became final, and at the first look those that were named and are final already.
        public internal(set) var ended: [FileEntry] = []
        /// Whether the waiting is over.
        public internal(set) var isOver = false
    }

    /// How long nothing may happen before an old outcome is believed: the agent sees what is dropped within 100 ms.
    public static let calm = Duration.milliseconds(300)

    private let files: Set<RelativePath>
    private let directories: [RelativePath]
    private var states: [RelativePath: String] = [:]
    /// Files that something happened to since the waiting began.
    private var followed: Set<RelativePath> = []
    private var calmSince: Duration?
    private var current: [RelativePath: FileEntry] = [:]
    private var absent: Set<RelativePath> = []
    private var hasLooked = false
    private let passesOverOldRejections: Bool
    /// Files that were rejected before the waiting began and don't count, with the time they ended.
    private var oldRejections: [RelativePath: String?] = [:]

    /// A wait that has not looked yet.
    ///
    /// - Parameters:
    ///   - targets: what is waited for.
    ///   - passesOverOldRejections: whether files that were rejected before the first look don't count. One such file would
    ///     otherwise fail every wait for everything from then on.
    public init(for targets: Set<WaitTarget>, passesOverOldRejections: Bool = false) {
        self.passesOverOldRejections = passesOverOldRejections
        var files: Set<RelativePath> = []
        var directories: [RelativePath] = []
        for target in targets {
            switch target {
            case .file(let path), .source(let path): files.insert(path)
            case .below(let directory): directories.append(directory)
            }
        }
        self.files = files
        self.directories = directories
    }

    /// Takes in what the agent says now.
    ///
    /// - Parameters:
    ///   - entries: every file the agent knows, and the sources put like files.
    ///   - hasScanned: whether the agent has looked through the whole outbox since it began.
    ///   - exists: whether something stands at a path that the agent does not know.
    ///   - now: time since the waiting began.
    public mutating func look(
        at entries: [FileEntry], hasScanned: Bool, exists: (RelativePath) -> Bool, now: Duration
    ) -> Look {
        var look = Look()
        current = [:]
        for entry in entries {
            // A file that was moved after its upload is waited for under either path.
            guard let path = [entry.droppedPath, entry.relativePath].compactMap(\.self).first(where: isWaitedFor),
                !isPassedOver(entry, at: path)
            else { continue }
            current[path] = entry
            note(entry, at: path, in: &look)
        }
        absent = files.filter { current[$0] == nil }
        for path in absent where exists(path) { followed.insert(path) }
        hasLooked = true
        look.isOver = isOver(hasScanned: hasScanned, exists: exists, now: now)
        return look
    }

    private func isWaitedFor(_ path: RelativePath) -> Bool {
        files.contains(path) || directories.contains { path.isWithin($0) }
    }

    /// Whether the file was rejected before the waiting began. One that is judged again counts.
    private mutating func isPassedOver(_ entry: FileEntry, at path: RelativePath) -> Bool {
        guard passesOverOldRejections else { return false }
        let isRejected = entry.state == FileState.rejected.rawValue
        if !hasLooked, isRejected { oldRejections[path] = .some(entry.finished_at) }
        guard let end = oldRejections[path] else { return false }
        if isRejected, end == entry.finished_at { return true }
        oldRejections[path] = nil
        return false
    }

    private mutating func note(_ entry: FileEntry, at path: RelativePath, in look: inout Look) {
        if !entry.isFinal { followed.insert(path) }
        guard states.updateValue(entry.state, forKey: path) != entry.state else { return }
        if !entry.isFinal {
            look.moved.append(entry)
        } else if hasLooked || files.contains(path) {
            if hasLooked { followed.insert(path) }
            look.ended.append(entry)
        }
    }

    private mutating func isOver(hasScanned: Bool, exists: (RelativePath) -> Bool, now: Duration) -> Bool {
        let isSettled =
            current.values.allSatisfy(\.isFinal) && !absent.contains(where: exists)
            && (directories.isEmpty || hasScanned)
        guard isSettled else {
            calmSince = nil
            return false
        }
        // Every outcome came while we looked.
        if directories.isEmpty && absent.isEmpty && files.isSubset(of: followed) { return true }
        let since = calmSince ?? now
        calmSince = since
        return now - since >= Self.calm
    }

    /// Whether everything is final, and believed once it has stood for ``calm``.
    public var isCalming: Bool { calmSince != nil }

    /// The files that something happened to while they were waited for, and those that were named: what a display of
    /// the progress is about.
    public var shown: [FileEntry] {
        current.filter { followed.contains($0.key) || files.contains($0.key) }.sorted { $0.key < $1.key }.map(\.value)
    }

    /// All files that are waited for and known, ordered by path.
    public var known: [FileEntry] {
        current.sorted { $0.key < $1.key }.map(\.value)
    }

    /// How many files were rejected before the waiting began and don't count.
    public var passedOver: Int { oldRejections.count }

    /// Whether the server confirmed the content of every file that is waited for.
    public var allDone: Bool { absent.isEmpty && current.values.allSatisfy(\.isDone) }

    /// Named files that the agent does not know, ordered by path: either it has not seen them yet, or they vanished
    /// before it did.
    public var unknown: [RelativePath] { absent.sorted() }
}
