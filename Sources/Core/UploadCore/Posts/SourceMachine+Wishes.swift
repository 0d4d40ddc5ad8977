// Handles the user's actions on a source.
extension SourceMachine {
    mutating func submit() {
        switch record.stage {
        case .draft:
            record.stage = .collecting
            isSubmitted = record.description == nil
        case .done where !pendingChanges.isEmpty: record.stage = .collecting
        case .uploading where !pendingChanges.isEmpty:
            // No commit was sent yet, so the changes join the same revision.
            adoptSeenDescription()
            record.stage = .collecting
        case .failed, .cancelled: startAgain()
        case .collecting, .rejected: isSubmitted = record.description == nil
        case .uploading, .committing, .done: break
        }
    }

    mutating func retry() {
        switch record.stage {
        case .failed, .cancelled: startAgain()
        case .rejected where record.description != nil: startAgain()
        case .collecting: lookAgain(at: files.keys)
        case .uploading: lookAgain(at: record.files.keys)
        case .draft, .committing, .done, .rejected: break
        }
    }

    private mutating func startAgain() {
        record.stage = .collecting
        lookAgain(at: files.keys)
    }

    private mutating func lookAgain(at names: some Sequence<RelativePath>) {
        let wanted = names.filter { files[$0]?.state == .failed || files[$0]?.state == .cancelled }.sorted()
        guard !wanted.isEmpty else { return }
        awaited.formUnion(wanted)
        actions.append(.retryFiles(wanted))
    }

    mutating func setPaused(_ paused: Bool) {
        switch record.stage {
        case .done, .failed, .cancelled: if paused { return }
        case .draft, .collecting, .uploading, .committing, .rejected: break
        }
        record.isPaused = paused
    }

    mutating func cancel() {
        if isFinal { return }
        giveUp(FileError(code: "cancelled", message: "cancelled by the user", retryable: false))
    }

    mutating func remove() {
        switch record.stage {
        case .done, .cancelled: return
        case .draft, .collecting, .uploading, .committing, .failed, .rejected: break
        }
        let message = "the directory was removed before the post was committed"
        giveUp(FileError(code: "removed", message: message, retryable: false))
    }

    private mutating func giveUp(_ error: FileError) {
        // The server may have received the commit although its answer was lost. Never reuse this number with other
        // files.
        if case .committing = record.stage { record.revision += 1 }
        let posted = Set((record.post?.files ?? [:]).values)
        let present = files.filter { $0.value.state != .rejected }.keys
        let names = Set(present).union(record.files.keys).filter { name in
            guard let key = files[name]?.key ?? record.files[name] else { return true }
            return !posted.contains(key)
        }
        for name in names {
            // The agent reports the cancelled files later, which is too late for a `submit` that follows at once.
            files[name]?.state = .cancelled
            files[name]?.remoteID = nil
        }
        if !names.isEmpty { actions.append(.discardFiles(names.sorted(), error)) }
        adoptSeenDescription()
        unverified = []
        awaited = []
        forgotten = 0
        record.stage = .cancelled(error)
    }
}
