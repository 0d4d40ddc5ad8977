// Restores paths from the ledger at start, and prepares the ledger for the next owner at the end.
extension PathBook {
    /// The result of restoring a record from the ledger.
    package enum Restored: Equatable, Sendable {
        /// The path waits for an upload. If the upload machine holds that upload, give the record to `bringIn`.
        case waits(RestoredWaiter)
        /// The path waits for an account that is not signed in.
        case parked(account: String)
        /// The path continues: its file still needs a hash, or is a profile picture.
        case underWay
        /// The path stays in its final state.
        case ended
        /// The path is judged again; the ledger must forget it.
        case forgotten
        /// The path waits for an upload of bytes that must not be sent any more, because its recipe changed.
        case startsOver
    }

    /// Restores the ledger's record of a path.
    ///
    /// - Parameters:
    ///   - isOtherServer: whether the last run used another server, which makes this outcome meaningless.
    ///   - judgesAgain: whether the rules for rejecting files changed.
    package mutating func restore(_ record: DropRecord, isOtherServer: Bool, judgesAgain: Bool) -> Restored {
        wishIndex.update(record)
        if record.key != nil, !record.state.isFinal {
            if isPortrait(record.path) {
                drops[record.path] = record
                foundPortraits.insert(record.path)
                return .underWay
            }
            if let owner = ownership.absentOwner(record.account) {
                drops[record.path] = record
                return .parked(account: owner)
            }
            if !rules.recipes.agree(with: record) { return .startsOver }
            return .waits(
                RestoredWaiter(
                    path: record.path, paused: record.state == .paused, joinedLater: record.deduplicated))
        }
        if record.state == .settling || record.state == .paused {
            restoreWishes(of: record)
            return .underWay
        }
        let isAskedAnew =
            (isOtherServer || !rules.recipes.agree(with: record)) && !record.isCancelledByUser
            && record.originalKey != nil && !isPortrait(record.path) && !ownership.isParked(record.account)
        if isAskedAnew || (judgesAgain && record.state == .rejected) { return .forgotten }
        if record.isCancelledByUser, record.flags.contains(.cancelledEarly) { wishes.cancelled.insert(record.path) }
        return .ended
    }

    /// Restores a path whose content was unknown when the agent ended. The scan finds its file.
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

    /// Queues paths for a new hash because this server and account have no upload of them.
    package mutating func startOver(_ records: [DropRecord], now: Now, facts: any PathFacts) -> [PathAction] {
        step(now, facts) { book in
            for var record in records {
                let path = record.path
                if record.state == .paused {
                    book.wishes.paused.insert(path)
                    book.rememberWishes(for: record)
                } else {
                    book.add(write: .forgetDrop(path))
                }
                record.identity = nil
                record.key = nil
                record.product = nil
                record.state = .settling
                book.drops[path] = record
            }
        }
    }

    /// Returns records with the owners of files whose content is still unknown, since the next start runs under another
    /// account.
    package func recordsOfOwners() -> [LedgerWrite] {
        drops.values.filter { $0.key == nil && !wishes.paused.contains($0.path) }.map { old in
            var record = old
            record.state = .settling
            record.identity = nil
            if wishes.first.contains(old.path) { record.flags = .first }
            return .drop(record)
        }
    }

    /// Assigns to an account the files that arrived while nobody was signed in.
    ///
    /// - Parameter isOther: whether the last run worked for another account, or for none. Records of that time may name no
    ///   account at all.
    /// - Returns: the changes to the ledger.
    package mutating func giveNobodys(to account: String, isOther: Bool, facts: any PathFacts) -> [LedgerWrite] {
        var writes: [LedgerWrite] = []
        for var record in drops.values where ownership.owner(record.account) == nil {
            record.account = account
            drops[record.path] = record
            if record.key != nil { writes.append(.drop(record)) }
        }
        guard facts.hasBacklog else { return writes }
        let give = { (stored: DropRecord) in
            guard !stored.state.isFinal, drops[stored.path] == nil, ownership.owner(stored.account) == nil else {
                return
            }
            var record = stored
            record.account = account
            writes.append(.drop(record))
        }
        if isOther {
            facts.forEachStoredRecord(within: .root, give)
        } else {
            facts.forEachRecordNeededAtStart(give)
        }
        return writes
    }

    /// Records that the path's first fragment was sent.
    ///
    /// - Returns: the change to the ledger; nil if a fragment was sent before.
    package mutating func begin(_ path: RelativePath, at time: WallTime) -> LedgerWrite? {
        guard var record = drops[path], record.startedAt == nil else { return nil }
        record.startedAt = time
        drops[path] = record
        return .drop(record)
    }

    /// Records the outcome of the upload that a path waited for.
    ///
    /// - Parameter known: the present record of the path.
    /// - Returns: the change to the ledger.
    package mutating func end(
        _ known: DropRecord, _ outcome: DropOutcome, attempts: Int, at time: WallTime
    ) -> LedgerWrite {
        var record = known
        record.finishedAt = time
        record.attempts = attempts
        record.flags.remove(.verifying)
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

    /// Updates the wish index after a change of the ledger.
    package mutating func note(_ write: LedgerWrite) { wishIndex.take(write) }
}
