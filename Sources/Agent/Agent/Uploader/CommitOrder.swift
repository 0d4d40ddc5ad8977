import UploadCore

/// The commits in progress, and which actions must wait for them: *ledger first, action second*.
struct CommitOrder: Sendable {
    /// The number of commits in progress that an action could wait for.
    private(set) var count = 0
    /// Commits that no action waits for: acknowledgements alone, and what is learned about contents.
    private var aside = 0
    /// How many commits in progress change the stored state of each upload.
    private var changes: [ContentKey: Int] = [:]

    /// Whether no commit is in progress that an action could wait for.
    var isIdle: Bool { count == 0 }

    /// Whether a commit aside is in progress.
    var hasAside: Bool { aside > 0 }

    /// Begins a commit.
    ///
    /// - Parameter isAside: whether no action waits for this commit.
    mutating func begin(_ writes: [LedgerWrite], isAside: Bool = false) {
        if isAside { return aside += 1 }
        count += 1
        for key in writes.compactMap(\.changedUpload) { changes[key, default: 0] += 1 }
    }

    /// Ends a commit.
    ///
    /// - Returns: whether it was the last one aside.
    @discardableResult
    mutating func end(_ writes: [LedgerWrite], isAside: Bool = false) -> Bool {
        if isAside {
            aside -= 1
            return aside == 0
        }
        count -= 1
        for key in writes.compactMap(\.changedUpload) {
            if let left = changes[key] { changes[key] = left > 1 ? left - 1 : nil }
        }
        return false
    }

    /// Splits steps into those that depend on no commit in progress and those that must wait, each in order.
    func split(_ steps: [AgentStep]) -> (ready: [AgentStep], waiting: [AgentStep]) {
        var (ready, waiting): ([AgentStep], [AgentStep]) = ([], [])
        for step in steps { if isReady(step) { ready.append(step) } else { waiting.append(step) } }
        return (ready, waiting)
    }

    /// Whether a step may be performed now, since it depends on no commit in progress.
    func isReady(_ step: AgentStep) -> Bool {
        if isIdle { return true }
        switch step {
        case .request(.send(_, let key, _, _)): return changes[key] == nil
        case .request(.finish(_, let keys)): return keys.allSatisfy { changes[$0] == nil }
        case .report, .reportUploads, .reportAllUploads, .reportCommit, .examine, .problem, .log,
            .tellPortraits, .makeProduct, .stopMaking, .watchForToken, .stopWatchingForToken:
            return true
        default: return false
        }
    }
}

extension LedgerWrite {
    /// The upload whose stored state this write changes. Requests about this upload must wait for the commit.
    fileprivate var changedUpload: ContentKey? {
        switch self {
        case .upload(let record): record.key
        case .forgetUpload(let key), .forgetFragments(let key), .digests(let key, _), .fragments(let key, _): key
        case .park(let key), .unpark(let key, _): key
        case .drop, .forgetDrop, .confirmation, .forgetConfirmation, .forgetParked, .removal, .forgetRemoval,
            .product, .source, .forgetSource, .setting, .outcome, .place, .trimJournal:
            nil
        }
    }
}
