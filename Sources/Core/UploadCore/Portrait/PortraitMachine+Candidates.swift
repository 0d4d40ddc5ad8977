// From a dropped picture to the picture shown.
extension PortraitMachine {
    /// The error of every picture but the newest.
    static let superseded = FileError(
        code: "superseded", message: "a newer profile picture was dropped", retryable: false)

    /// The error of every picture if the protocol has no profile pictures.
    package static let unsupported = FileError(
        code: "not_supported", message: "this server's protocol has no profile pictures; use filesection or s3",
        retryable: false)

    private static let noPicture = FileError(
        code: "unsupported_type", message: "a profile picture must be a picture; drop videos elsewhere in the outbox",
        retryable: false)

    mutating func dropped(_ drop: PortraitDrop, _ order: DropOrder, now: Now) {
        if !isSupported { return report(drop, ended: .failed, Self.unsupported, now: now) }
        if drop.type.kind != .image { return report(drop, ended: .rejected, Self.noPicture, now: now) }
        let newer: Int?
        var arrival: UInt64 = 0
        switch order {
        case .arrived(let number):
            if number < latestArrival { return supersede(drop, now: now) }
            newer = candidates.firstIndex { $0.arrival > number }
            arrival = number
        case .found:
            if takeOver(drop) { return }
            if let newest, isNewer(newest.drop, than: drop, now: now) { return supersede(drop, now: now) }
            newer = candidates.firstIndex { isNewer($0.drop, than: drop, now: now) }
        }
        insert(drop, before: newer ?? candidates.endIndex, arrival)
    }

    /// Applies a known drop's changed attributes; returns false if the drop is unknown.
    private mutating func takeOver(_ drop: PortraitDrop) -> Bool {
        if let newest, newest.drop.isSameDrop(as: drop) {
            if isPending, newest.drop.isPaused != drop.isPaused {
                pause(drop.path, drop.isPaused)
            } else {
                reportNewest()
            }
            return true
        }
        guard let index = candidates.firstIndex(where: { $0.drop.isSameDrop(as: drop) }) else { return false }
        candidates[index].drop.isPaused = drop.isPaused
        report(candidates[index])
        return true
    }

    private mutating func insert(_ drop: PortraitDrop, before place: Int, _ arrival: UInt64) {
        // The path has a newer candidate, which is reported instead.
        if candidates[place...].contains(where: { $0.drop.path == drop.path }) { return }
        // The path's older candidates were replaced by this file.
        let earlier = candidates[..<place].filter { $0.drop.path == drop.path }
        for candidate in earlier { remove(candidate.id) }
        let candidate = Candidate(
            id: nextID(), drop: drop, account: refusal == nil ? account : nil, arrival: arrival)
        candidates.insert(candidate, at: place - earlier.count)
        report(candidate)
    }

    /// Whether the first file's ctime is later. A ctime in the future was written before the clock was set back, and
    /// proves nothing.
    private func isNewer(_ one: PortraitDrop, than other: PortraitDrop, now: Now) -> Bool {
        one.identity.changed > other.identity.changed && one.identity.changed / 1_000_000 <= now.wall.milliseconds
    }

    private mutating func supersede(_ drop: PortraitDrop, now: Now) {
        if let newest, newest.drop.path == drop.path, newest.drop.key == drop.key { return reportNewest() }
        report(drop, ended: .cancelled, Self.superseded, now: now)
    }

    mutating func prepared(_ id: UInt64) {
        preparing = nil
        guard let index = candidates.firstIndex(where: { $0.id == id }) else { return actions.append(.scrap(id)) }
        candidates[index].isPrepared = true
    }

    mutating func unfit(_ id: UInt64, _ state: FileState, _ error: FileError, now: Now) {
        preparing = nil
        actions.append(.scrap(id))
        guard let index = candidates.firstIndex(where: { $0.id == id }) else { return }
        end(candidates.remove(at: index), as: state, error, now: now)
    }

    /// Retries once: the first death may be chance, such as too little memory or a kill from outside.
    mutating func killedWorker(_ id: UInt64, _ error: FileError, now: Now) {
        guard let index = candidates.firstIndex(where: { $0.id == id }), !candidates[index].hasKilledWorker else {
            return unfit(id, .failed, error, now: now)
        }
        candidates[index].hasKilledWorker = true
        postponed(id, FileError(code: error.code, message: error.message, retryable: true), now: now)
    }

    mutating func postponed(_ id: UInt64, _ error: FileError, now: Now) {
        if preparing == id { preparing = nil }
        guard let index = candidates.firstIndex(where: { $0.id == id }) else { return actions.append(.scrap(id)) }
        // The retry draws the picture again, so a partial draft is useless.
        if !candidates[index].isPrepared { actions.append(.scrap(id)) }
        candidates[index].work.fail(error, backoff: &backoff, now: now)
        report(candidates[index])
    }

    mutating func changed(_ id: UInt64) {
        preparing = nil
        actions.append(.scrap(id))
        candidates.removeAll { $0.id == id }
    }

    mutating func stored(_ id: UInt64, now: Now) {
        if case .settling = phase { return }
        guard let index = candidates.firstIndex(where: { $0.id == id }) else { return }
        let taken = candidates[index]
        let older = candidates[..<index]
        let before = newest
        candidates.removeSubrange(...index)
        newest = record(of: taken)
        latestArrival = max(latestArrival, taken.arrival)
        giveUpRequest()
        errand.reset()
        for candidate in older { drop(candidate, as: .cancelled, Self.superseded, now: now) }
        if let before, before.fate == .pending { report(before, ended: .cancelled, Self.superseded, now: now) }
        phase = .pending
        if let refusal { waitForLogin(refusal, now: now) }
        actions.append(.announce(.pending(taken.drop.path, taken.drop.key)))
        reportNewest()
    }

    private func record(of candidate: Candidate) -> PortraitRecord {
        PortraitRecord(id: candidate.id, drop: candidate.drop, account: candidate.account)
    }

    /// Prepares the newest candidate. Older candidates only matter if the newest turns out to be unfit.
    mutating func prepareNext() {
        guard preparing == nil, let candidate = candidates.last, !candidate.isPrepared, candidate.work.isReady else {
            return
        }
        preparing = candidate.id
        actions.append(.prepare(candidate.id, candidate.drop))
    }

    /// Stores the newest prepared candidate. Waits while the previous picture's final state is being made durable.
    ///
    /// - Returns: Whether a `store` action was added.
    mutating func storeNext() -> Bool {
        if case .settling = phase { return false }
        guard let candidate = candidates.last(where: { $0.isPrepared && $0.work.isReady }) else { return false }
        actions.append(.store(record(of: candidate)))
        return true
    }

    /// Removes a candidate and its prepared files.
    private mutating func remove(_ id: UInt64) {
        guard let index = candidates.firstIndex(where: { $0.id == id }) else { return }
        let candidate = candidates.remove(at: index)
        // If the candidate is still being prepared, its files are removed when the preparation ends.
        if preparing != id { scrap(candidate) }
    }

    private mutating func scrap(_ candidate: Candidate) {
        if candidate.isPrepared { actions.append(.scrap(candidate.id)) }
    }

    /// Ends a candidate that was never stored.
    mutating func drop(_ candidate: Candidate, as state: FileState, _ error: FileError, now: Now) {
        candidates.removeAll { $0.id == candidate.id }
        if preparing != candidate.id { scrap(candidate) }
        end(candidate, as: state, error, now: now)
    }

    private mutating func end(_ candidate: Candidate, as state: FileState, _ error: FileError, now: Now) {
        guard isLatest(candidate.id, at: candidate.drop.path) else { return }
        report(candidate.drop, ended: state, error, now: now)
    }
}
