import FileWatch
import Intake
import UploadCore

extension WatchEvent {
    /// How many queued events to search for a matching rename.
    private static let longestLookBack = 16

    /// Merges the rename of a directory into a queued one: `a → b, b → c` becomes `a → c`, and `a → b, b → a` becomes
    /// nothing. Only events about other places may lie between the two.
    ///
    /// - Returns: whether the event was merged and must not be queued.
    static func fold(_ event: WatchEvent, into waiting: inout [WatchEvent]) -> Bool {
        guard case .renamed(let middle, let last, isDirectory: true) = event else { return false }
        for index in waiting.indices.suffix(longestLookBack).reversed() {
            if case .renamed(let first, middle, isDirectory: true) = waiting[index] {
                guard waiting[(index + 1)...].allSatisfy({ $0.leavesAlone([first]) }) else { return false }
                if first == last {
                    waiting.remove(at: index)
                } else {
                    waiting[index] = .renamed(from: first, to: last, isDirectory: true)
                }
                return true
            }
            if !waiting[index].leavesAlone([middle, last]) { return false }
        }
        return false
    }

    /// Whether the event concerns none of these places, and nothing above or below them.
    private func leavesAlone(_ places: [RelativePath]) -> Bool {
        let own: [RelativePath]
        switch self {
        case .seen(let path), .ready(let path, _), .odd(let path, _), .unreadable(let path, _),
            .unlistable(let path, _),
            .gone(let path):
            own = [path]
        case .renamed(let old, let new, _): own = [old, new]
        case .scanned, .deferring, .overflowed, .watchLimit, .mountLost, .mounted, .rootLost, .rootBack: return false
        }
        return own.allSatisfy { path in places.allSatisfy { !path.isWithin($0) && !$0.isWithin(path) } }
    }
}

extension WatchEvent {
    /// The event that posts get, and the path it is about; `nil` if it does not concern them.
    var forPosts: (event: PostsEvent, path: RelativePath)? {
        switch self {
        case .seen(let path): (.seen(path), path)
        case .ready(let path, let status): (.ready(path, FileIdentity(status)), path)
        case .odd(let path, _), .unreadable(let path, _): (.odd(path), path)
        case .gone(let path): (.gone(path), path)
        case .renamed(let old, let new, let isDirectory): (.renamed(old, to: new, isDirectory: isDirectory), new)
        default: nil
        }
    }
}
