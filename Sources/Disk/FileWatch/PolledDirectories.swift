/// Why a directory is polled every few seconds.
public enum PollReason: Hashable, Sendable {
    /// The directory could not be watched.
    case limit(WatchLimit.Cause)
    /// The directory is on a shared file system of this name, which raises no events for changes made elsewhere.
    case sharedFileSystem(String)
    /// The same directory is watched under another path, as with a bind mount.
    case alias
}

/// The directories that are polled.
struct PolledDirectories {
    private var reasons: [WatchTree.ID: PollReason] = [:]
    /// Number of directories for each reason in use.
    private(set) var counts: [PollReason: Int] = [:]

    var isEmpty: Bool { reasons.isEmpty }

    var ids: some Collection<WatchTree.ID> { reasons.keys }

    /// Number of directories that are polled only because of a limit.
    var limited: Int {
        counts.reduce(0) { if case .limit = $1.key { $0 + $1.value } else { $0 } }
    }

    subscript(id: WatchTree.ID) -> PollReason? {
        get { reasons[id] }
        set {
            let old = reasons[id]
            if old == newValue { return }
            if let old, let count = counts[old] { counts[old] = count > 1 ? count - 1 : nil }
            if let newValue { counts[newValue, default: 0] += 1 }
            reasons[id] = newValue
        }
    }

    /// Removes directories that no longer exist.
    mutating func keep(where isThere: (WatchTree.ID) -> Bool) {
        for id in reasons.keys where !isThere(id) { self[id] = nil }
    }
}
