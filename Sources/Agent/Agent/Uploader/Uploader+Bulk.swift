import Ledger
import LinuxSystem
import Reports
import Sidecars
import UploadCore

/// The actions on many files that an uploader carries out.
struct BulkWork {
    var actions = BulkActions()
    /// What the actions of this run have done so far, by number.
    var answers: [UInt64: ActionAnswer<FileReport>] = [:]
    /// Who waits for an answer.
    var waiting: [UInt64: CheckedContinuation<ActionAnswer<FileReport>, Never>] = [:]
    var isUnderWay = false
    /// Set while a retry waits until fewer files are being read.
    var room: CheckedContinuation<Void, Never>?

    /// Answers whoever waits for an action.
    mutating func answer(_ number: UInt64, continues: Bool) {
        guard let waiting = waiting.removeValue(forKey: number) else { return }
        var answer = answers.removeValue(forKey: number) ?? ActionAnswer([])
        answer.outcomes.sort { $0.subject.path < $1.subject.path }
        answer.continues = continues
        waiting.resume(returning: answer)
    }
}

// Actions on many files. The ledger holds an action from the moment it counts. Then its files follow page by page, each
// page once the last one and its sidecars are durable. So neither memory nor the wait of other work grows with the number
// of files, and a kill ends nothing.
extension Uploader {
    /// How many files are handled before other work gets its turn.
    private static let bulkTurn = 64
    /// The maximum number of outcomes in an answer; the others are counted.
    private static let longestAnswer = 1000

    /// Performs an action on everything, or on the files below a directory that belong to no post.
    ///
    /// - Parameter directory: `nil` for everything, posts included.
    /// - Returns: what changed, which is durable. A retry may go on: more files than the agent reads at a time follow later.
    func performOnAll(_ action: UserAction, below directory: RelativePath?) async -> ActionAnswer<FileReport> {
        var events: [AgentEvent] = []
        if directory == nil {
            if action == .pause || action == .resume {
                parts.pauseMark?.set(action == .pause)
                events.append(.setAllPaused(action == .pause))
            }
            events.append(.posts(.actOnAll(action)))
        }
        // Pausing everything is a setting. Moving everything to the head of the queue changes no order.
        if directory == nil, action == .pause || action == .first {
            handle(events)
            await parts.ledger.commit([])
            return ActionAnswer([])
        }
        let order = BulkAction(action: action, directory: directory, askedAt: now.wall)
        let number = bulk.actions.add(order)
        bulk.answers[number] = ActionAnswer([])
        // The ledger does not know files without a key. They are part of the same commit, so that a kill loses none.
        let fresh = concerned(core.book.drops.values.filter { $0.key == nil }.map(\.path), by: order, number)
        act(order, number, on: fresh, after: events + [.store([bulk.actions.write])])
        return await withCheckedContinuation { continuation in
            bulk.waiting[number] = continuation
            carryOutBulk()
            offerRoom()
        }
    }

    /// Begins to carry out the actions that are left, unless that is under way.
    func carryOutBulk() {
        if bulk.isUnderWay || bulk.actions.pending.isEmpty { return }
        bulk.isUnderWay = true
        Task {
            await carryOutPending()
            bulk.isUnderWay = false
            for number in Array(bulk.waiting.keys) { bulk.answer(number, continues: true) }
        }
    }

    /// Lets a retry go on once there is room, another action overtakes it, or the agent ends.
    func offerRoom() {
        guard let room = bulk.room, hasRoom || mustEnd || bulk.actions.next(overtaking: true) != nil else { return }
        bulk.room = nil
        room.resume()
    }

    private var mustEnd: Bool { hasStopped || isSealed }

    /// Whether fewer files are being read than the agent takes from the watch.
    private var hasRoom: Bool { core.book.drops.values.count { $0.key == nil } < Self.window }

    private func carryOutPending(overtaking: Bool = false) async {
        while let (number, order) = bulk.actions.next(overtaking: overtaking) {
            var next: DropPosition? = .first
            while let position = next {
                // Without the ledger, the next start continues.
                guard !mustEnd, let page = page(of: order, from: position) else { return }
                await carryOut(order, number, on: page.paths)
                next = page.next
            }
            if mustEnd { return }
            bulk.actions.remove(number)
            handle(.store([bulk.actions.write]))
            await parts.ledger.commit([])
            bulk.answer(number, continues: false)
        }
    }

    private func page(
        of order: BulkAction, from position: DropPosition
    ) -> (paths: [RelativePath], next: DropPosition?)? {
        let stored = core.stored
        let page = stored.asked { () throws(LedgerError) in try stored.page(within: order.place, from: position) }
        reportLedgerTrouble()
        guard let page else { return nil }
        // A record that is being changed may be there twice.
        let paths = Set(page.drops.map(\.path)).sorted()
        // Each file goes ahead of those before.
        return (order.action == .first ? paths.reversed() : paths, page.next)
    }

    private func carryOut(_ order: BulkAction, _ number: UInt64, on page: [RelativePath]) async {
        var rest = page[...]
        var hasChanged = false
        while !rest.isEmpty {
            while order.action == .retry, !hasRoom, !mustEnd {
                bulk.answer(number, continues: true)
                await carryOutPending(overtaking: true)
                if !hasRoom, !mustEnd { await withCheckedContinuation { bulk.room = $0 } }
            }
            if mustEnd { return }
            let paths = concerned(rest.prefix(Self.bulkTurn), by: order, number)
            rest = rest.dropFirst(Self.bulkTurn)
            act(order, number, on: paths)
            if !paths.isEmpty { hasChanged = true }
            await withCheckedContinuation { continuation in thread.run { continuation.resume() } }
        }
        guard hasChanged else { return }
        await parts.ledger.commit([])
        await withCheckedContinuation { continuation in parts.sidecars.onceChecked { continuation.resume() } }
    }

    private func concerned(
        _ paths: some Sequence<RelativePath>, by order: BulkAction, _ number: UInt64
    ) -> [RelativePath] {
        let world = runner.world
        return paths.filter { path in
            guard !bulk.actions.isOutdated(number, for: path), let record = world.record(of: path) else { return false }
            return world.concerns(order, record)
        }
    }

    /// Acts on files, in one commit with what precedes.
    private func act(
        _ order: BulkAction, _ number: UInt64, on paths: [RelativePath], after events: [AgentEvent] = []
    ) {
        guard let decision = decide(events + paths.map { .path(.act(order.action, $0, isByName: false)) }),
            var answer = bulk.answers.removeValue(forKey: number)
        else { return }
        let world = runner.world
        for path in paths {
            let refusal = decision.refusals[path]
            if refusal == nil { answer.changed += 1 } else { answer.unchanged += 1 }
            guard answer.outcomes.count < Self.longestAnswer, let report = world.report(at: path) else { continue }
            answer.outcomes.append(ActionOutcome(report, refusal: refusal))
        }
        bulk.answers[number] = answer
    }
}
