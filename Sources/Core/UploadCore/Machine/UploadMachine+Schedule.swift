// Decides which requests begin now.
extension UploadMachine {
    /// Begins every request that may begin now.
    mutating func schedule(now: Now) {
        guard !stopped, signedOut == nil else { return }
        if !allPaused {
            for turn in turns(now: now) {
                self.turn = turn
                scheduleQuestions(now: now)
                scheduleCommits(now: now)
                leaveExcessSlots(now: now)
                yieldTurns(now: now)
                fillSlots(now: now)
                scheduleFragments(now: now)
                scheduleRegistrations(now: now)
            }
            turn = .all
        }
        scheduleRemovals(now: now)
    }

    /// Which uploads and commits may begin requests.
    enum Turn: Equatable, Sendable {
        case all
        /// Those that did not fail yet, before the pause of all others is over.
        case firstTries
        /// Those with at most so many failures in a row.
        case failedAtMost(Int)
    }

    /// Returns the turns in which requests begin, as a rule a single one for all. If a gate lets a probe through, those with
    /// the fewest failures go first. So the next probe takes another upload, and an upload that the server refuses holds up
    /// no others.
    private func turns(now: Now) -> [Turn] {
        let early: [Turn] = gates.isProbeDue(at: now.monotonic, isFirstTry: true) ? [.firstTries] : []
        guard gates.isProbeDue(at: now.monotonic, isFirstTry: false) else { return early + [.all] }
        let failures = Set(uploads.values.map(\.failures) + commits.values.map(\.errand.failures))
        return early + failures.sorted().map { .failedAtMost($0) }
    }

    /// Whether an upload or a commit with so many failures may begin a request in this turn.
    func isInTurn(_ failures: Int?) -> Bool {
        switch turn {
        case .all: true
        case .firstTries: failures == 0
        case .failedAtMost(let most): failures.map { $0 <= most } ?? true
        }
    }

    func mayBegin(_ kind: RequestKind, _ now: Now) -> Bool {
        gates.allowance(for: kind, at: now.monotonic, isFirstTry: turn == .firstTries) != 0
    }

    /// Returns the number of unanswered requests of a kind.
    func isUnderWay(_ kind: RequestKind) -> Int { requests.count(of: kind) }

    mutating func begin(
        _ kind: RequestKind, _ keys: [ContentKey], fragment: Int? = nil, skip: UInt32 = 0,
        removals: [RemoteHandle] = [],
        source: String? = nil
    ) -> RequestID {
        lastRequest += 1
        let probe = gates.begin(kind)
        requests.store(
            Request(
                kind: kind, keys: Set(keys), fragment: fragment, begun: handledAt, skip: skip,
                mark: Mark(at: handledAt, bytes: UInt64(skip)), wasProbe: probe, wasBatch: keys.count > 1,
                removals: removals, source: source), as: lastRequest)
        return lastRequest
    }

    private mutating func scheduleQuestions(now: Now) {
        while !dueForQuestion.isEmpty, mayBegin(.finish, now),
            isUnderWay(.finish) < mostRequests(for: dueForQuestion.count)
        {
            let batch = takeBatch(.finish, from: [\.dueForQuestion], now: now)
            if batch.isEmpty { return }
            for key in batch {
                // While the upload waited for its group, it could make no progress.
                if groups.name(of: key) != nil, uploads[key]?.questions == 0, uploads[key]?.failures == 0 {
                    uploads[key]?.lastProgress = now.monotonic
                }
                move(key, to: .asking)
            }
            actions.append(.finish(begin(.finish, batch), batch))
        }
    }

    private typealias Queue = WritableKeyPath<UploadMachine, PriorityQueue<QueuePlace>>

    /// Takes the uploads for the next request of a kind from queues: a group, a single upload that must go alone, or as
    /// many of the others as fit, in order.
    private mutating func takeBatch(_ kind: RequestKind, from queues: [Queue], now: Now) -> [ContentKey] {
        var batch: [ContentKey] = []
        var laterTurns: [(Queue, QueuePlace)] = []
        defer { for (queue, place) in laterTurns { self[keyPath: queue].insert(place) } }
        while batch.count < traits.batch, let (queue, place) = firstPlace(in: queues) {
            guard let upload = uploads[place.key], isDue(upload, place, for: kind, now: now), !batch.contains(place.key)
            else {
                _ = self[keyPath: queue].removeFirst()
                continue
            }
            guard isInTurn(upload.failures) else {
                _ = self[keyPath: queue].removeFirst()
                laterTurns.append((queue, place))
                continue
            }
            if !upload.alone, let group = groups.name(of: place.key) {
                guard let members = together(group, for: kind, now: now) else {
                    _ = self[keyPath: queue].removeFirst()
                    continue
                }
                // The group's entries become stale with the request. A group too large for one request keeps entries
                // for the next.
                return batch.isEmpty ? members : batch
            }
            if upload.alone && !batch.isEmpty { return batch }
            _ = self[keyPath: queue].removeFirst()
            batch.append(place.key)
            if upload.alone { return batch }
        }
        return batch
    }

    private func firstPlace(in queues: [Queue]) -> (Queue, QueuePlace)? {
        queues.compactMap { queue in self[keyPath: queue].first.map { (queue, $0) } }.min { $0.1 < $1.1 }
    }

    /// Whether an entry of a queue is still valid.
    private func isDue(_ upload: Upload, _ place: QueuePlace, for kind: RequestKind, now: Now) -> Bool {
        switch upload.phase {
        case .unregistered: kind == .register && upload.record.order == place.order
        case .verifying(let notBefore): kind == .finish && notBefore <= now.monotonic
        default: false
        }
    }

    /// How many registrations, or questions, of whole batches are in flight at once. With one alone, all small files of a
    /// burst would wait for its answer together, and both processors of a small machine for each other.
    private static let mostBatches = 3

    /// How many registrations, or questions, are in flight at once. Of requests that hold many uploads one, so that the next
    /// one fills up, unless enough uploads wait to fill it. Of others as many as fragments: the registration of a small
    /// file takes as many round trips as its bytes.
    private func mostRequests(for waiting: Int) -> Int {
        if traits.batch == 1 { return max(limits.filesInFlight, pace.window) }
        return waiting < traits.batch ? 1 : Self.mostBatches
    }

    /// How many files of at least `Upload.slotSize` may send at once. On a slow link, which carries few fragments at once,
    /// this lets one file finish after the other.
    private var slots: Int { min(limits.filesInFlight, pace.window) }

    /// The shares of all slots together.
    private var allShares: Int { slots * Upload.wholeSlot }

    /// Whether another upload may get a slot. The last one may take more than is left.
    private var hasFreeSlot: Bool {
        active.count + lingering.count < pace.window && active.total + lingering.total < allShares
    }

    /// Takes slots back when their number shrinks. Fragments in flight may still arrive.
    private mutating func leaveExcessSlots(now: Now) {
        while let (key, others) = active.last {
            guard
                others >= allShares || active.count > pace.window
                    || others + lingering.total >= limits.filesInFlight * Upload.wholeSlot
            else { return }
            vacate(key, now: now)
        }
    }

    /// Takes the slot of an upload. A fragment in flight may still arrive, unless this would take long.
    private mutating func vacate(_ key: ContentKey, now: Now) {
        if uploads[key]?.phase == .resuming || sendsForLong(key) { giveUpRequests(of: key, now: now) }
        move(key, to: .ready)
    }

    /// Whether an upload is sending much in one request, which may end early, since the upload resumes in the middle of a
    /// fragment.
    private func sendsForLong(_ key: ContentKey) -> Bool {
        guard traits.asksBeforeResuming, traits.inOrder, let upload = uploads[key],
            let fragment = upload.inFlight.keys.first
        else { return false }
        let left = UInt64(upload.record.plan.range(of: fragment).count) - UInt64(upload.partial)
        return left > Upload.smallSize
    }

    /// Gives free slots to uploads in order of arrival. Small and large uploads never take all slots while the other
    /// class waits.
    private mutating func fillSlots(now: Now) {
        while hasFreeSlot, let key = takeNextForSlot() {
            takeSlot(key, as: uploads[key]?.mustResume == true ? .resuming : .sending)
            if uploads[key]?.record.attempts == 0 { uploads[key]?.record.attempts = 1 }
        }
        guard mayResume else { return }
        for key in active.keys where uploads[key]?.phase == .resuming && isInTurn(uploads[key]?.failures) {
            let asked = requests.contains(.resume, about: key)
            if !asked, mayBegin(.resume, now) { actions.append(.resume(begin(.resume, [key]), key)) }
        }
    }

    /// Whether the protocol has uploads whose offset the machine asks for.
    private var mayResume: Bool { traits.asksBeforeResuming || traits.asksAfterRestart }

    private mutating func takeNextForSlot() -> ContentKey? {
        let small = freshest(&readySmall)
        let large = freshest(&readyLarge)
        let takeSmall: Bool
        switch (small, large) {
        case (nil, nil): return nil
        case (.some, nil): takeSmall = true
        case (nil, .some): takeSmall = false
        case (let small?, let large?):
            let smallActive = active.keys.contains { uploads[$0]?.isSmall == true }
            let largeActive = active.keys.contains { uploads[$0]?.isSmall == false }
            takeSmall = slotIsForSmall ?? (smallActive == largeActive ? small < large : !smallActive)
        }
        slotIsForSmall = nil
        _ = takeSmall ? readySmall.removeFirst() : readyLarge.removeFirst()
        return takeSmall ? small?.key : large?.key
    }

    /// Returns the first entry of a queue that is still valid.
    private func freshest(_ queue: inout PriorityQueue<QueuePlace>) -> QueuePlace? {
        while let place = queue.first {
            if let upload = uploads[place.key], upload.phase == .ready, upload.record.order == place.order {
                return place
            }
            _ = queue.removeFirst()
        }
        return nil
    }

    /// Begins as many fragments as the link carries. Each upload with a slot sends one fragment before any sends a
    /// second, so that on a slow link no upload holds its slot idle.
    private mutating func scheduleFragments(now: Now) {
        var room = pace.window - isUnderWay(.send)
        guard room > 0 else { return }
        var senders = active.senders
        if mayResume { senders.removeAll { uploads[$0]?.phase != .sending } }
        if turn != .all { senders.removeAll { !isInTurn(uploads[$0]?.failures) } }
        var share = 1
        while room > 0, !senders.isEmpty, share <= fragmentsPerFile {
            senders = senders.filter { key in
                guard room > 0, let inFlight = active.inFlight(of: key) else { return false }
                if inFlight >= share { return true }
                guard scheduleFragment(of: key, now: now) else { return false }
                room -= 1
                return true
            }
            share += 1
        }
    }

    private var fragmentsPerFile: Int { traits.inOrder ? 1 : limits.fragmentsInFlight ?? pace.window }

    /// Begins the next fragment of an upload.
    ///
    /// - Returns: false if no fragment can begin now.
    private mutating func scheduleFragment(of key: ContentKey, now: Now) -> Bool {
        guard mayBegin(.send, now), let (fragment, skip) = uploads[key]?.nextFragment() else { return false }
        let id = begin(.send, [key], fragment: fragment, skip: skip)
        active.setInFlight(uploads[key]?.begin(fragment, id) ?? 0, of: key)
        actions.append(.send(id, key, fragment: fragment, skip: skip))
        return true
    }

    /// Takes the slot of an upload that had its turn if one class holds every slot while the other class waits.
    private mutating func yieldTurns(now: Now) {
        guard slotIsForSmall == nil, active.total >= allShares || active.count >= pace.window,
            let first = active.first, let held = uploads[first]?.isSmall,
            !(held ? readyLarge : readySmall).isEmpty, active.keys.allSatisfy({ uploads[$0]?.isSmall == held })
        else { return }
        // With a single slot on a slow link, the other class would wait for hours.
        let turn = slots == 1 && limits.filesInFlight > 1 ? Upload.smallSize : Self.turnSize
        let otherWaits = held ? freshest(&readyLarge) != nil : freshest(&readySmall) != nil
        guard otherWaits, let key = active.keys.first(where: { (uploads[$0]?.turn ?? 0) >= turn }) else { return }
        slotIsForSmall = !held
        vacate(key, now: now)
    }

    /// How many small uploads to register ahead of free slots. Without batches, each waits for a commit of the ledger before
    /// it sends, and during a burst these are 20 ms apart, so the files in flight alone would leave the link idle.
    private var smallOnesAhead: Int {
        if traits.batch == 1 { return min(limits.mostFragments, UploadLimits.automaticMost) }
        return mostRequests(for: unregisteredSmall.count) * traits.batch
    }

    /// Registers uploads ahead of free slots. Small and large uploads count apart, so that neither class keeps the other
    /// from being ready for its turn.
    private mutating func scheduleRegistrations(now: Now) {
        let ahead = max(traits.lookahead, limits.filesInFlight)
        while mayBegin(.register, now), isUnderWay(.register) < mostRequests(for: unregisteredSmall.count) {
            var queues: [Queue] = []
            if upcoming[isSmall: true] < max(ahead, smallOnesAhead) { queues.append(\.unregisteredSmall) }
            if upcoming[isSmall: false] < ahead { queues.append(\.unregisteredLarge) }
            let batch = takeBatch(.register, from: queues, now: now)
            if batch.isEmpty { return }
            for key in batch {
                if uploads[key]?.record.attempts == 0 { uploads[key]?.record.attempts = 1 }
                move(key, to: .registering)
            }
            actions.append(.register(begin(.register, batch), batch))
        }
    }
}
