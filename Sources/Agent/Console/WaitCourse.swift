package import Reports
package import UploadCore

/// A target of `wait`.
package enum WaitTarget: Hashable, Sendable {
    /// One file, which the agent need not know yet.
    case file(RelativePath)
    /// Every file below a directory; `.root` means all files.
    case below(RelativePath)
    /// A source, by its directory.
    case source(RelativePath)

    /// Whether the target includes a file, or a source by its directory.
    package func includes(_ path: RelativePath) -> Bool {
        switch self {
        case .file(let file), .source(let file): path == file
        case .below(let directory): path.isWithin(directory)
        }
    }
}

/// Follows the waited-for files and sources from one poll of the agent to the next, and decides when the wait is over.
///
/// An outcome that was already there at the first poll counts only after it has been stable for ``calm``. The agent
/// may not have noticed yet that a file was dropped or overwritten just before the wait began.
package struct WaitCourse: Sendable {
    /// The result of one poll.
    package struct Look: Sendable {
        /// Entries whose state changed since the last poll, and is not final.
        package internal(set) var moved: [any SubjectEntry] = []
        /// Entries that became final. At the first poll, also named entries that are already final.
        package internal(set) var ended: [any SubjectEntry] = []
        /// Whether the wait is over.
        package internal(set) var isOver = false
    }

    /// How long an old outcome must be stable before it counts. The agent sees a dropped file within 100 ms.
    private static let calm = Duration.milliseconds(300)

    private let files: Set<RelativePath>
    private let directories: [RelativePath]
    private var states: [RelativePath: String] = [:]
    /// Files that changed since the wait began.
    private var followed: Set<RelativePath> = []
    private var calmSince: Duration?
    private var current: [RelativePath: any SubjectEntry] = [:]
    private var absent: Set<RelativePath> = []
    private var hasLooked = false
    private let passesOverOldRejections: Bool
    /// Files rejected, removed or dismissed before the wait began, with the time they ended. They don't count.
    private var oldRejections: [RelativePath: String?] = [:]

    /// Creates a wait that has not polled yet.
    ///
    /// - Parameters:
    ///   - targets: The targets to wait for.
    ///   - passesOverOldRejections: Whether to ignore files rejected before the first poll. Otherwise, one such file
    ///     would fail every later wait for everything.
    package init(for targets: Set<WaitTarget>, passesOverOldRejections: Bool = false) {
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

    /// Evaluates the agent's current answer.
    ///
    /// - Parameters:
    ///   - entries: Every file and every source the agent knows.
    ///   - hasScanned: Whether the agent has scanned the whole outbox since its start.
    ///   - exists: Whether an object exists at a path that the agent does not know.
    ///   - now: Time since the wait began.
    package mutating func look(
        at entries: [any SubjectEntry], hasScanned: Bool, exists: (RelativePath) -> Bool, now: Duration
    ) -> Look {
        var look = Look()
        current = [:]
        for entry in entries {
            // A file that was moved after its upload matches under either path.
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

    /// Whether the file was rejected, or its user removed or dismissed it, before the wait began. A file that is examined
    /// again counts.
    private mutating func isPassedOver(_ entry: any SubjectEntry, at path: RelativePath) -> Bool {
        guard passesOverOldRejections else { return false }
        let isRejected = entry.state == FileState.rejected.rawValue || entry.isSettledByUser
        if !hasLooked, isRejected { oldRejections[path] = .some(entry.finished_at) }
        guard let end = oldRejections[path] else { return false }
        if isRejected, end == entry.finished_at { return true }
        oldRejections[path] = nil
        return false
    }

    private mutating func note(_ entry: any SubjectEntry, at path: RelativePath, in look: inout Look) {
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
        // Every outcome came during this wait.
        if directories.isEmpty && absent.isEmpty && files.isSubset(of: followed) { return true }
        let since = calmSince ?? now
        calmSince = since
        return now - since >= Self.calm
    }

    /// Whether everything is final and only ``calm`` has to pass.
    package var isCalming: Bool { calmSince != nil }

    /// The named entries, and all entries that changed during the wait: those a progress display shows.
    package var shown: [any SubjectEntry] {
        current.filter { followed.contains($0.key) || files.contains($0.key) }.sorted { $0.key < $1.key }.map(\.value)
    }

    /// All waited-for entries that the agent knows, ordered by path.
    package var known: [any SubjectEntry] {
        current.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Number of ignored files that were rejected before the wait began.
    package var passedOver: Int { oldRejections.count }

    /// Whether the server confirmed the content of every waited-for file.
    package var allDone: Bool { absent.isEmpty && current.values.allSatisfy(\.isDone) }

    /// Named files that the agent does not know, ordered by path. Either the agent has not seen them yet, or they
    /// vanished before it could.
    package var unknown: [RelativePath] { absent.sorted() }
}
