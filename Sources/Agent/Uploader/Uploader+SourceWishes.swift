import Ledger
import Reports
import UploadCore

// User actions on sources.
extension Uploader: SourceBackend {
    func sources() async -> [SourceReport] { sources.directories.compactMap(sourceReport) }

    func source(id: String) async -> SourceReport? { sources.directory(withID: id).flatMap(sourceReport) }

    func perform(_ wish: SourceWish, onSource id: String) async -> SourceAnswer? {
        guard let directory = sources.directory(withID: id), let entry = sources[directory] else { return nil }
        let refusal = refusal(of: wish, entry)
        if refusal == nil { carryOut(wish, directory, entry) }
        await parts.ledger.commit([])
        return sourceReport(directory).map { SourceAnswer(source: $0, refusal: refusal) }
    }

    /// Returns why there is nothing to do; `nil` if there is something.
    private func refusal(of wish: SourceWish, _ entry: SourceBook.Entry) -> String? {
        let record = entry.record
        if let account = ownership.absentOwner(record.account), [.submit, .retry, .first].contains(wish) {
            return "the post belongs to \(account), and continues once \(account) signs in"
        }
        switch (wish, record.stage) {
        case (.submit, .rejected(let error)): return "the post is rejected: \(error.message)"
        case (.submit, .done) where entry.machine.pendingChanges.isEmpty:
            return "the post is already done, and nothing changed"
        // Until source.toml was read, nobody knows whether the source is a draft.
        case (.submit, .collecting) where record.description != nil: return "the post is already submitted"
        case (.submit, .uploading) where entry.machine.pendingChanges.isEmpty: return "the post is already submitted"
        case (.submit, .committing):
            return "revision \(record.revision) is under way; submit again once it is done"
        case (.pause, _) where record.isPaused: return "the post is already paused"
        case (.resume, _) where !record.isPaused:
            return machine.isPaused ? "everything is paused; run `outbox resume --all`" : "the post is not paused"
        case (.cancel, .done), (.pause, .done), (.retry, .done), (.first, .done): return "the post is already done"
        case (.cancel, .cancelled), (.pause, .cancelled), (.first, .cancelled): return "the post is already cancelled"
        case (.pause, .failed), (.first, .failed): return "the post has failed"
        case (.retry, .draft), (.first, .draft): return "the post is a draft; `outbox submit` uploads it"
        case (.retry, .rejected(let error)), (.pause, .rejected(let error)), (.cancel, .rejected(let error)),
            (.first, .rejected(let error)):
            return "the post is rejected: \(error.message)"
        case (.cancel, .failed): return "the post has failed"
        default: return nil
        }
    }

    private func carryOut(_ wish: SourceWish, _ directory: RelativePath, _ entry: SourceBook.Entry) {
        switch wish {
        case .submit: tell(directory, [.submit])
        case .pause: tell(directory, [.setPaused(true)])
        case .resume: tell(directory, [.setPaused(false)])
        case .cancel: tell(directory, [.cancel])
        case .retry:
            tell(directory, [.retry])
            process(entry.machine.gathered.map { .retry($0) } + [.retryCommit(entry.record.id)])
        case .first: process(entry.machine.gathered.reversed().map { .first($0) })
        }
        noteChange(of: directory)
    }

    /// Performs an action on all sources. Drafts are not under way, so cancelling does not touch them.
    func actOnSources(_ action: UserAction) {
        for directory in sources.directories {
            guard let record = sources[directory]?.record else { continue }
            switch (action, record.stage) {
            case (.resume, _) where record.isPaused: tell(directory, [.setPaused(false)])
            case (.cancel, .collecting), (.cancel, .uploading), (.cancel, .committing): tell(directory, [.cancel])
            case (.retry, .failed): tell(directory, [.retry])
            default: continue
            }
        }
    }

    /// Whether a file belongs to a draft.
    func isInDraft(_ record: DropRecord) -> Bool {
        guard let directory = source(of: record), case .draft = sources[directory]?.record.stage else { return false }
        return true
    }
}
