public import UploadCore

/// What a full scan found.
public struct ScanSummary: Equatable, Sendable {
    /// Number of names that are not directories, known files included, ignored ones not.
    public internal(set) var files = 0
    /// Number of directories, the outbox included.
    public internal(set) var directories = 0
    /// Directories that could not be listed.
    public internal(set) var unreadable: Set<RelativePath> = []
    /// Mount points whose file system is away.
    public internal(set) var lostMounts: Set<RelativePath> = []
    /// Number of directories that are polled because they could not be watched.
    public internal(set) var unwatched = 0
    /// From its begin to its end.
    public internal(set) var duration: Duration = .zero

    // 64-bit hashes instead of paths: a million files are 16 MB. Swift's hash is keyed anew in each process, so nobody
    // can prepare names that collide.
    private var seen: Set<Int> = []

    init() {}

    /// Whether a file was there at some time during the scan, or nobody can tell: see ``isUnvouched(_:)``. A path for
    /// which this is false was not there.
    public func contains(_ path: RelativePath) -> Bool {
        seen.contains(path.hashValue) || isUnvouched(path)
    }

    /// Whether a file was there at some time during the scan.
    public func found(_ path: RelativePath) -> Bool { seen.contains(path.hashValue) }

    /// Whether nothing can be said of a path, because a directory above it could not be listed or its file system is
    /// away. That it was not found does not mean that it was removed.
    public func isUnvouched(_ path: RelativePath) -> Bool {
        if unreadable.isEmpty && lostMounts.isEmpty { return false }
        var place = path
        while !unreadable.contains(place) && !lostMounts.contains(place) {
            if place == .root { return false }
            place = place.parent
        }
        return true
    }

    mutating func insert(_ path: RelativePath) {
        if seen.insert(path.hashValue).inserted { files += 1 }
    }
}

extension ScanSummary: ScanFindings {
    /// Whether each directory could be listed, and each file system was there.
    package var isWhole: Bool { unreadable.isEmpty && lostMounts.isEmpty }
}
