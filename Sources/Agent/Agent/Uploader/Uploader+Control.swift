import Ledger
import LinuxSystem
import Reports
import Sidecars
import UploadCore

// The control interface's door: one function for questions, and the users' actions.
extension Uploader {
    /// Answers a question about this moment, on the uploader's thread.
    func ask<Answer: Sendable>(_ question: @Sendable (ReportWorld, AgentStatus) -> Answer) -> Answer {
        defer { reportLedgerTrouble() }
        return question(runner.world, status)
    }

    /// Performs an action on files: pause, resume, cancel, retry, first. The result is durable on return.
    ///
    /// - Returns: the outcome for each path, sorted by path; `nil` if no file has this id or key.
    func perform(_ action: UserAction, on target: ActionTarget) async -> [ActionOutcome<FileReport>]? {
        let found = ask { [formerNames = runner.formerNames] world, _ in
            world.paths(of: target, formerNames)
        }
        guard let found else { return nil }
        bulk.actions.note(actionOn: found)
        let isByName = if case .file = target { true } else { false }
        let refusals = found.map { handle(.path(.act(action, $0, isByName: isByName))) }
        await parts.ledger.commit([])
        return ask { world, _ in
            zip(found, refusals).compactMap { path, refusal in
                world.report(at: path).map { ActionOutcome($0, refusal: refusal) }
            }
        }
    }

    /// Performs an action on a post. The result is durable on return.
    ///
    /// - Returns: the outcome; `nil` if no post has this id.
    func perform(_ action: UserAction, onSource id: String) async -> ActionOutcome<SourceReport>? {
        guard let directory = core.posts.directory(withID: id) else { return nil }
        let refusal = handle(.posts(.wish(action, directory)))
        await parts.ledger.commit([])
        return ask { world, _ in
            world.report(ofPost: directory).map { ActionOutcome($0, refusal: refusal) }
        }
    }

    /// Removes strays, and forgets vanished files after their retention. Confirmations of the server stay.
    func prune() async -> PruneReport {
        guard core.isWholeOutbox else { return PruneReport() }
        // Strays come first: until the sidecars of the entries forgotten below are removed, they look like strays.
        let search = runner.strays.search(away: core.book.lostMounts)
        let found = await withCheckedContinuation { continuation in
            reader.run { continuation.resume(returning: search()) }
        }
        let steps = StraySearch.steps(for: found.strays, core)
        perform(steps.map(AgentStep.init))
        var report = PruneReport(sidecars: steps.count)
        var next: DropPosition? = .first
        while let position = next, !hasStopped {
            let stored = core.stored
            let page = stored.asked { () throws(LedgerError) in try stored.page(from: position) }
            let expired = core.expired(page?.drops ?? [], at: now.wall, core.book.retention)
            for path in expired {
                if parts.sidecars.isThere(for: path) { report.sidecars += 1 }
                handle(.path(.forget(path)))
            }
            report.entries += expired.count
            next = page?.next
            // Other work gets its turn, and memory does not grow with the number of entries.
            if next != nil { await parts.ledger.commit([]) }
        }
        reportLedgerTrouble()
        await parts.ledger.commit([])
        await parts.sidecars.flush()
        return report
    }
}
