@testable import UploadCore

// The conditions that must hold at every step of a walk.
extension Walk {
    mutating func fail(_ what: String) {
        if problem == nil { problem = what }
    }

    mutating func begin(_ request: Begun) {
        let live = begun.values
        if request.keys.count > traits.batch || request.names.count > traits.batch { fail("batch too large") }
        for key in request.keys {
            if live.contains(where: {
                $0.kind == request.kind && $0.keys.contains(key) && $0.fragment == request.fragment
            }) {
                fail("\(request.kind) of \(key) twice at once")
            }
            if request.kind == .register, live.contains(where: { $0.kind != .finish && $0.keys.contains(key) }) {
                fail("\(key) registered again while it is under way")
            }
        }
        if request.kind == .send { checkSend(request) }
        if signedOut { fail("\(request.kind) while signed out") }
        checkCommit(request)
        checkGroup(request)
        begun[request.id] = request
    }

    private mutating func checkSend(_ request: Begun) {
        let key = request.keys[0]
        let sends = begun.values.filter { $0.kind == .send }
        let perFile = limits.fragmentsInFlight ?? limits.mostFragments
        if sends.count(where: { $0.keys == [key] }) >= perFile { fail("too many fragments of one file in flight") }
        if sends.count >= limits.mostFragments { fail("too many fragments in flight") }
        // The last file may take more than is left of the slots.
        let shares = Set(sends.flatMap(\.keys)).union([key]).map { key in
            let plan = decided.uploads[key]?.plan ?? FragmentPlan(size: 0)
            return min(1, Double(plan.size) / Double(512 << 10))
        }
        if shares.reduce(0, +) - (shares.max() ?? 0) >= Double(limits.filesInFlight) {
            fail("too many files in flight")
        }
        if traits.inOrder, sends.contains(where: { $0.keys == [key] }) { fail("two fragments of an ordered upload") }
        if decided.acknowledged(key).contains(request.fragment) { fail("acknowledged fragment sent again") }
    }

    mutating func check(_ actions: [MachineAction], after events: [MachineEvent]) {
        if let last = actions.lastIndex(where: \.isWrite), actions[..<last].contains(where: { !$0.isWrite }) {
            fail("a write after something else")
        }
        let confirmed = Set(
            actions.writes.compactMap { write in if case .confirmation(let it) = write { it.key } else { nil } })
        for case .ended(let path, let key, .done, _) in actions {
            if !confirmed.contains(key) { fail("\(path) done without a confirmation") }
            if !server.whole.contains(key) { fail("\(path) done and not on the server") }
        }
        for case .forgetFragments(let key) in actions.writes where !events.contains(where: { $0.forgets(key) }) {
            fail("fragments forgotten for no reason")
        }
    }

    /// Checks that the numbers which the machine keeps for quick decisions are those of its uploads and requests.
    private mutating func checkTables() {
        for table in [machine.active, machine.lingering] {
            let uploads = table.keys.compactMap { machine.uploads[$0] }
            if uploads.count != table.count { fail("a slot of an upload that is gone") }
            if uploads.reduce(0, { $0 + $1.slotShare }) != table.total { fail("wrong sum of the shares of slots") }
        }
        for key in machine.active.keys where machine.active.inFlight(of: key) != machine.uploads[key]?.inFlight.count {
            fail("wrong number of fragments in flight")
        }
        for kind in RequestKind.allCases
        where machine.requests.count(of: kind) != machine.requests.all.count(where: { $0.kind == kind }) {
            fail("wrong number of requests of a kind")
        }
    }

    /// Checks that every wait can end: by a request or a deadline.
    mutating func checkRest() {
        let waiting = waiting.filter { !settling.contains($0.key) }
        for (path, drop) in waiting where machine.view(of: drop.content.key, from: path) == nil {
            let isInBacklog = machine.hasBacklog && machine.record(of: drop.content.key) == nil
            if !isInBacklog || decided.uploads[drop.content.key] == nil {
                fail("\(path) is accepted, and no upload knows it")
            }
        }
        checkWindow()
        checkTables()
        if allPaused || signedOut || !forgotten.isEmpty { return }
        if posts.isEmpty && waiting.allSatisfy({ $0.value.paused }) { return }
        if begun.isEmpty, machine.nextDeadline(after: now.monotonic) == nil { fail("everything waits for nothing") }
    }

    /// Checks that the machine holds little more than its window of the uploads whose turn has not come.
    private mutating func checkWindow() {
        let waiting = machine.keys.filter { key in
            machine.record(of: key)?.attempts == 0 && groups[key] == nil
                && drops.values.contains { $0.content.key == key && $0.outcome == nil && !$0.paused }
        }
        if waiting.count > window + max(1, window / 4) {
            fail("\(waiting.count) uploads held in a window of \(window)")
        }
    }

    /// Triggers the next event that needs no user.
    ///
    /// - Returns: False if there is no such event.
    @discardableResult
    private mutating func goOn() -> Bool {
        if commits.isEmpty && sent.isEmpty {
            guard let next = machine.nextDeadline(after: now.monotonic) else { return false }
            pass(max(next - now.monotonic, .milliseconds(1)))
        }
        finishWhatIsUnderWay()
        return true
    }

    /// Ends all faults and checks that every upload ends.
    mutating func end() {
        server.isFlaky = false
        server.mood = .down
        signOut(false)
        pauseAll(false)
        for (path, drop) in drops where drop.paused { pause(path, false) }
        // Add a source while the server is down, so that the last pauses must end by themselves.
        gatherSome(for: Self.sources[0])
        for _ in 0..<40 { goOn() }
        server.mood = .fine
        for _ in 0..<20_000 where problem == nil && goOn() {}
        let left = drops.filter { $0.value.outcome == nil }
        if !left.isEmpty {
            let states = left.map {
                "\($0.key): \(machine.view(of: $0.value.content.key, from: $0.key)?.state.rawValue ?? "-")"
            }
            fail("never ended: \(states.sorted())")
        }
        if !posts.isEmpty { fail("commits never ended: \(posts.keys.sorted())") }
        if !machine.keys.isEmpty { fail("uploads nobody waits for") }
        if !decided.uploads.isEmpty || !decided.pages.isEmpty { fail("uploads left in the ledger") }
        if !decided.removals.isEmpty { fail("deletions left over") }
    }
}

extension MachineAction {
    var isWrite: Bool { if case .write = self { true } else { false } }
}

extension MachineEvent {
    /// Whether the event may require sending a content's fragments again.
    func forgets(_ key: ContentKey) -> Bool {
        switch self {
        case .failed(_, key, .forgotten), .finished(_, key, .failed), .resumed(_, key, .offset),
            .resumed(_, key, .fragments), .resumed(_, key, .unasked), .registered(_, key, _, .offset):
            true
        default: false
        }
    }
}
