/// What a user wanted of paths whose content was not known yet; carried out once it is.
struct EarlyWishes: Sendable {
    /// Paths to be held.
    var paused: Set<RelativePath> = []
    /// Paths to go to the head of the queue.
    var first: Set<RelativePath> = []
    /// Paths that were cancelled while they were being written: what is there once they are at rest is what was meant.
    var cancelled: Set<RelativePath> = []

    /// Whether the ledger must hold something of a path on account of what is wanted of it.
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
