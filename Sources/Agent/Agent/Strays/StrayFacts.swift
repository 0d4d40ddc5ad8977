import UploadCore

/// What `StraySearch` and `expired` may ask: the present state of outbox, paths, posts and ledger.
protocol StrayFacts {
    /// Whether the outbox is present and is the one in the ledger. The files of another outbox do not count as gone.
    var isWholeOutbox: Bool { get }
    /// Mount points below the outbox whose file system is not mounted.
    var lostMounts: Set<RelativePath> { get }
    /// Whether the agent still works on a path, or the path's file system is not mounted.
    func isBusy(_ path: RelativePath) -> Bool
    /// Whether the path has a record, or may have one that can't be read.
    func hasRecord(_ path: RelativePath) -> Bool
    /// Whether the directory is a post.
    func isPost(_ directory: RelativePath) -> Bool
    /// Whether the directory lies within a post. Then it is no post itself.
    func isInPost(_ directory: RelativePath) -> Bool
    /// Whether no file has this name any more.
    func isGone(_ path: RelativePath) -> Bool
}

extension StrayFacts {
    /// Returns those of some records whose files vanished and whose retention is over.
    func expired(_ records: [DropRecord], at now: WallTime, _ retention: Retention) -> [RelativePath] {
        guard isWholeOutbox else { return [] }
        return records.filter { record in
            record.isPrunable(at: now, retention) && !isBusy(record.path) && isGone(record.path)
        }.map(\.path)
    }
}
