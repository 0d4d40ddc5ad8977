// From the ledger at start, and for the next owner at the end.
extension PathBook {
    /// What becomes of a record that the ledger held when the agent ended.
    package enum Restored: Equatable, Sendable {
        /// Its path waits for an upload.
        case waits(RestoredWaiter)
        /// Its path waits for an account that is not signed in.
        case parked(account: String)
        /// Its path is taken up again: it was not hashed yet, or is a profile picture.
        case underWay
        /// It is in a final state, and stays so.
        case ended
        /// It is judged anew: the ledger is to forget it.
        case forgotten
    }

    /// Takes up what the ledger holds of a path.
    ///
    /// - Parameters:
    ///   - isOtherServer: whether the last run was with another server, which knows nothing of this outcome.
    ///   - judgesAgain: whether the rules changed by which files are rejected.
    package mutating func restore(_ record: DropRecord, isOtherServer: Bool, judgesAgain: Bool) -> Restored {
        wishIndex.update(record)
        if record.key != nil, !record.state.isFinal {
            drops[record.path] = record
            if isPortrait(record.path) {
                foundPortraits.insert(record.path)
                return .underWay
            }
            if let owner = ownership.absentOwner(record.account) { return .parked(account: owner) }
            return .waits(
                RestoredWaiter(
                    path: record.path, paused: record.state == .paused, joinedLater: record.deduplicated))
        }
        if record.state == .settling || record.state == .paused {
            restoreWishes(of: record)
            return .underWay
        }
        let isAskedAnew =
            isOtherServer && !record.isCancelledByUser && record.key != nil && !isPortrait(record.path)
            && !ownership.isParked(record.account)
        if isAskedAnew || (judgesAgain && record.state == .rejected) { return .forgotten }
        if record.isCancelledByUser, record.flags.contains(.cancelledEarly) { wishes.cancelled.insert(record.path) }
        return .ended
    }

    /// Takes up a path whose content was not known when the agent ended; the scan finds it.
    private mutating func restoreWishes(of record: DropRecord) {
        if record.state == .paused { wishes.paused.insert(record.path) }
        if record.flags.contains(.first) { wishes.first.insert(record.path) }
        var early = record
        if record.state == .paused {
            early = DropRecord(path: record.path, state: .settling, acceptedAt: record.acceptedAt)
            early.account = record.account
        }
        early.flags = []
        drops[record.path] = early
    }

    /// Has paths hashed again whose upload this server and account know nothing of.
    package mutating func startOver(_ paths: [RelativePath], now: Now, facts: any PathFacts) -> [PathAction] {
        step(now, facts) { book in
            for path in paths {
                guard var record = book.drops[path] else { continue }
                if record.state == .paused {
                    book.wishes.paused.insert(path)
                    book.rememberWishes(for: record)
                } else {
                    book.add(write: .forgetDrop(path))
                }
                record.identity = nil
                record.key = nil
                record.state = .settling
                book.drops[path] = record
            }
        }
    }

    /// Whose the files are whose content is not known yet, for the ledger: the next start finds them under another account.
    package func recordsOfOwners() -> [LedgerWrite] {
        drops.values.filter { $0.key == nil && !wishes.paused.contains($0.path) }.map { old in
            var record = old
            record.state = .settling
            record.identity = nil
            if wishes.first.contains(old.path) { record.flags = .first }
            return .drop(record)
        }
    }

    /// Gives what came while nobody was signed in to an account.
    ///
    /// - Returns: how the ledger must change.
    package mutating func giveNobodys(to account: String) -> [LedgerWrite] {
        var writes: [LedgerWrite] = []
        for var record in drops.values where ownership.owner(record.account) == nil {
            record.account = account
            drops[record.path] = record
            if record.key != nil { writes.append(.drop(record)) }
        }
        return writes
    }

    /// A path's first fragment is sent.
    ///
    /// - Returns: how the ledger must change; nil where it was sent before.
    package mutating func begin(_ path: RelativePath, at time: WallTime) -> LedgerWrite? {
        guard var record = drops[path], record.startedAt == nil else { return nil }
        record.startedAt = time
        drops[path] = record
        return .drop(record)
    }

    /// The upload that a path waited for is over.
    ///
    /// - Parameter known: what is known of the path.
    /// - Returns: how the ledger must change.
    package mutating func end(
        _ known: DropRecord, _ outcome: DropOutcome, attempts: Int, at time: WallTime
    ) -> LedgerWrite {
        var record = known
        record.finishedAt = time
        record.attempts = attempts
        switch outcome {
        case .done(let remote, let deduplicated):
            record.state = .done
            record.remote = remote
            record.deduplicated = deduplicated
            if deduplicated { record.attempts = 0 }
            record.error = nil
            record.disposal = rules.keepsFiles ? nil : .pending
        case .failed(let error):
            record.state = .failed
            record.error = error
        }
        return keep(record)
    }

    /// Whether the ledger changed as to a path: what is wanted of it is found by it.
    package mutating func note(_ write: LedgerWrite) { wishIndex.take(write) }
}
