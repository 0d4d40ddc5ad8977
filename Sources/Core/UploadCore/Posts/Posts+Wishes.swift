// Applies the wishes of users for posts.
extension Posts {
    mutating func act(_ wish: UserAction, on directory: RelativePath) {
        guard let entry = book[directory] else { return }
        if let reason = refusal(of: wish, entry) { return add(.refuse(reason)) }
        switch wish {
        case .submit: tell(directory, [.submit])
        case .pause: tell(directory, [.setPaused(true)])
        case .resume: tell(directory, [.setPaused(false)])
        case .cancel: tell(directory, [.cancel])
        case .retry:
            tell(directory, [.retry])
            for key in entry.machine.gathered { add(.upload(.retry(key))) }
            add(.upload(.retryCommit(entry.record.id)))
        case .first: for key in entry.machine.gathered.reversed() { add(.upload(.first(key))) }
        }
        noteProgress(of: directory, now: now.monotonic)
    }

    /// Returns why there is nothing to do; nil if there is something.
    private func refusal(of wish: UserAction, _ entry: SourceBook.Entry) -> String? {
        let record = entry.record
        if let account = ownership.absentOwner(record.account), [.submit, .retry, .first].contains(wish) {
            return "the post belongs to \(account), and continues once \(account) signs in"
        }
        if record.wasRemoved, [.submit, .retry].contains(wish),
            facts.look(at: PostPlaces.description(of: record.directory)).isGone
        {
            return "the directory of the post was removed; put it back together with its source.toml"
        }
        switch (wish, record.stage) {
        case (.submit, .rejected(let error)): return "the post is rejected: \(error.message)"
        case (.submit, .done) where entry.machine.pendingChanges.isEmpty:
            return "the post is already done, and nothing changed"
        // Until source.toml was read, nobody knows whether the post is a draft.
        case (.submit, .collecting) where record.description != nil: return "the post is already submitted"
        case (.submit, .uploading) where entry.machine.pendingChanges.isEmpty: return "the post is already submitted"
        case (.submit, .committing):
            return "revision \(record.revision) is under way; submit again once it is done"
        case (.pause, _) where record.isPaused: return "the post is already paused"
        case (.resume, _) where !record.isPaused:
            return facts.isAllPaused ? "everything is paused; run `outbox resume --all`" : "the post is not paused"
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

    /// Performs an action on all posts. Drafts are not under way, so cancelling does not touch them.
    mutating func actOnAll(_ action: UserAction) {
        for directory in book.directories {
            guard let record = book[directory]?.record else { continue }
            switch (action, record.stage) {
            case (.resume, _) where record.isPaused: tell(directory, [.setPaused(false)])
            case (.cancel, .collecting), (.cancel, .uploading), (.cancel, .committing): tell(directory, [.cancel])
            case (.retry, .failed): tell(directory, [.retry])
            default: continue
            }
        }
    }
}
