package import UploadCore

/// The findings of a full scan.
public struct ScanSummary: Equatable, Sendable {
    /// Number of names that are not directories; known files count, ignored names do not.
    var files = 0
    /// Number of directories, the outbox included.
    var directories = 0
    /// Directories that could not be listed.
    var unreadable: Set<RelativePath> = []
    /// Mount points whose file system is missing.
    var lostMounts: Set<RelativePath> = []
    /// Number of known files (`FileWatch.Options.isKnown`).
    package private(set) var knownCount = 0
    /// Number of directories polled because they could not be watched.
    public internal(set) var unwatched = 0
    /// Time from the scan's start to its end.
    var duration: Duration = .zero

    // Stores 64-bit hashes instead of paths: 16 MB for a million files. Swift seeds its hash anew in each process, so
    // nobody can prepare colliding names.
    private var seen: Set<Int> = []

    init() {}

    /// Whether a file was present at some time during the scan, or its presence is unknown: see ``isUnvouched(_:)``.
    /// False means that the path did not exist.
    package func contains(_ path: RelativePath) -> Bool {
        seen.contains(path.hashValue) || isUnvouched(path)
    }

    /// Whether a file was present at some time during the scan.
    package func found(_ path: RelativePath) -> Bool { seen.contains(path.hashValue) }

    /// Whether the scan cannot vouch for a path, because a directory above the path could not be listed or its file
    /// system is missing. Not finding such a path does not mean that it was removed.
    func isUnvouched(_ path: RelativePath) -> Bool {
        if unreadable.isEmpty && lostMounts.isEmpty { return false }
        var place = path
        while !unreadable.contains(place) && !lostMounts.contains(place) {
            if place == .root { return false }
            place = place.parent
        }
        return true
    }

    mutating func insert(_ path: RelativePath, isKnown: Bool = false) {
        guard seen.insert(path.hashValue).inserted else { return }
        files += 1
        if isKnown { knownCount += 1 }
    }
}

extension ScanSummary: ScanFindings {
    /// Whether every directory could be listed, and every file system was present.
    package var isWhole: Bool { unreadable.isEmpty && lostMounts.isEmpty }
}
