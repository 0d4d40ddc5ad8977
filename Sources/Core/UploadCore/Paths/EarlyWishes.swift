/// User actions on paths whose content is still unknown. `PathBook` applies them once the content is hashed.
struct EarlyWishes: Sendable {
    /// Paths to pause.
    var paused: Set<RelativePath> = []
    /// Paths to move to the head of the queue.
    var first: Set<RelativePath> = []
    /// Paths cancelled while a writer had the file open. The cancellation applies to the file once it settles.
    var cancelled: Set<RelativePath> = []

    /// Whether the ledger must hold a record of the path because of a pause or a move to the head of the queue.
    func areKept(for path: RelativePath) -> Bool { paused.contains(path) || first.contains(path) }

    mutating func rename(_ old: RelativePath, to new: RelativePath) {
        if paused.remove(old) != nil { paused.insert(new) }
        if first.remove(old) != nil { first.insert(new) }
        if cancelled.remove(old) != nil { cancelled.insert(new) }
    }

    mutating func forget(_ path: RelativePath) {
        paused.remove(path)
        first.remove(path)
        cancelled.remove(path)
    }
}
