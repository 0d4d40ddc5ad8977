import Ledger
import LedgerCare
import Reports
import UploadCore

// The control interface's door: one function for questions, and the users' actions.
extension Uploader {
    /// Answers a question about this moment, on the uploader's thread.
    func ask<Answer: Sendable>(_ question: @Sendable (ReportWorld, AgentStatus) -> Answer) -> Answer {
        defer { reportLedgerTrouble() }
        return question(reports, status)
    }

    /// Performs an action on files: pause, resume, cancel, retry, first. The result is durable on return.
    ///
    /// - Returns: the outcome for each path, sorted by path; `nil` if no file has this id or key.
    func perform(_ action: UserAction, on target: ActionTarget) async -> [ActionOutcome<FileReport>]? {
        let found = ask { [formerNames] world, _ in world.targets(of: action, on: target, formerNames) }
        guard let found else { return nil }
        if target == .all {
            setAll(action)
            handle(posts: .actOnAll(action))
        }
        let isByName = if case .file = target { true } else { false }
        let refusals = found.map { path in
            // The path may be the new name of a file whose upload is under way, and the file may belong to a post.
            if isByName { handle(posts: .expected(path)) }
            return handle(.act(action, path, isByName: isByName))
        }
        await parts.ledger.commit([])
        return ask { world, _ in
            zip(found, refusals).compactMap { path, refusal in
                world.report(at: path).map { ActionOutcome($0, refusal: refusal) }
            }
        }
    }

    private func setAll(_ action: UserAction) {
        if action == .pause || action == .resume { parts.pauseMark?.set(action == .pause) }
        switch action {
        case .pause: process([.setAllPaused(true)], writes: [.setting(LedgerSetting.allPaused, [1])])
        case .resume: process([.setAllPaused(false)], writes: [.setting(LedgerSetting.allPaused, nil)])
        case .cancel, .retry, .first, .submit: break
        }
    }

    /// Performs an action on a post. The result is durable on return.
    ///
    /// - Returns: the outcome; `nil` if no post has this id.
    func perform(_ action: UserAction, onSource id: String) async -> ActionOutcome<SourceReport>? {
        guard let directory = posts.directory(withID: id) else { return nil }
        let refusal = handle(posts: .wish(action, directory))
        await parts.ledger.commit([])
        return ask { world, _ in
            world.report(ofPost: directory).map { ActionOutcome($0, refusal: refusal) }
        }
    }
}
