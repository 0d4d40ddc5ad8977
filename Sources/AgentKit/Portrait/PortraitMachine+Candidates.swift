import UploadCore

// From a dropped picture to the one that is shown.
extension PortraitMachine {
    /// Why all but the newest picture end.
    static let superseded = FileError(
        code: "superseded", message: "a newer profile picture was dropped", retryable: false)

    mutating func dropped(_ drop: PortraitDrop, _ order: DropOrder, now: Now) {
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

    /// Where a drop is known already, takes over what its file was told meanwhile.
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
        // The name stands for something newer by now, which is told of instead.
        if candidates[place...].contains(where: { $0.drop.path == drop.path }) { return }
        // What the name stood for before is gone.
        let earlier = candidates[..<place].filter { $0.drop.path == drop.path }
        for candidate in earlier { remove(candidate.id) }
        let candidate = Candidate(
            id: nextID(), drop: drop, account: refusal == nil ? account : nil, arrival: arrival)
        candidates.insert(candidate, at: place - earlier.count)
        report(candidate)
    }

    /// Which of two files changed last, by the kernel's time; a time that is still to come was written before the clock
    /// was set back, and says nothing.
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
        candidates[index].pause = nil
    }

    mutating func unfit(_ id: UInt64, _ state: FileState, _ error: FileError, now: Now) {
        preparing = nil
        actions.append(.scrap(id))
        guard let index = candidates.firstIndex(where: { $0.id == id }) else { return }
        end(candidates.remove(at: index), as: state, error, now: now)
    }

    /// Once may have been chance: too little memory, or a kill from outside.
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
        // It is drawn anew then.
        if !candidates[index].isPrepared { actions.append(.scrap(id)) }
        candidates[index].failures += 1
        candidates[index].pause = makePause(after: candidates[index].failures, error, now: now)
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
        forgetFailures()
        giveUpRequest()
        for candidate in older { drop(candidate, as: .cancelled, Self.superseded, now: now) }
        if let before, before.fate == .pending { report(before, ended: .cancelled, Self.superseded, now: now) }
        phase = refusal.map { .signedOut(makeLongPause($0, now: now)) } ?? .ready
        actions.append(.announce(.pending(taken.drop.path, taken.drop.key)))
        reportNewest()
    }

    private func record(of candidate: Candidate) -> PortraitRecord {
        PortraitRecord(id: candidate.id, drop: candidate.drop, account: candidate.account)
    }

    /// Makes the newest of the candidates ready; the others are only of use if it turns out to be none.
    mutating func prepareNext() {
        guard preparing == nil, let candidate = candidates.last, !candidate.isPrepared, candidate.pause == nil else {
            return
        }
        preparing = candidate.id
        actions.append(.prepare(candidate.id, candidate.drop))
    }

    /// What is ready becomes the newest, but for the short time in which the end of the one before is made durable.
    ///
    /// - Returns: whether something is to be stored.
    mutating func storeNext() -> Bool {
        if case .settling = phase { return false }
        guard let candidate = candidates.last(where: { $0.isPrepared && $0.pause == nil }) else { return false }
        actions.append(.store(record(of: candidate)))
        return true
    }

    /// Takes a candidate out and removes what was made ready of it.
    private mutating func remove(_ id: UInt64) {
        guard let index = candidates.firstIndex(where: { $0.id == id }) else { return }
        let candidate = candidates.remove(at: index)
        // One that is being made ready is scrapped when that comes to its end.
        if preparing != id { scrap(candidate) }
    }

    private mutating func scrap(_ candidate: Candidate) {
        if candidate.isPrepared { actions.append(.scrap(candidate.id)) }
    }

    /// A candidate reaches its end without ever having been taken.
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
