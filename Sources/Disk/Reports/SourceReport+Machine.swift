package import UploadCore

extension SourceReport {
    /// Reports a source and its files. For commits in progress, the upload machine knows more.
    ///
    /// - Parameters:
    ///   - machine: the source.
    ///   - files: the reports of `names(of:)`, sorted by path.
    ///   - now: time of the report.
    package init(_ machine: SourceMachine, files: [FileReport], now: WallTime) {
        let record = machine.record
        self.init(
            id: record.id, directory: record.directory, state: .draft, acceptedAt: record.acceptedAt, updatedAt: now)
        let description = record.stage == .done ? record.post?.description : record.description
        if let title = description?.title, !title.isEmpty { self.title = title }
        cover = machine.cover
        revision = record.revision
        url = record.post?.url
        skipped = record.skipped.sorted()
        pendingChanges = machine.pendingChanges
        finishedAt = record.finishedAt
        self.files = files
        size = files.reduce(0) { $0 + ($1.sentSize ?? 0) }
        let sent = files.reduce(0) { $0 + ($1.state == .processing ? 0 : $1.progress * Double($1.sentSize ?? 0)) }
        progress = size > 0 ? min(sent / Double(size), 1) : 0
        switch record.stage {
        case .draft: break
        case .rejected(let error): end(as: .rejected, error)
        case .failed(let error): end(as: .failed, error)
        case .cancelled(let error): end(as: .cancelled, error)
        case .done: state = .file(.done)
        case .collecting, .uploading, .committing: describeWay(of: record)
        }
    }

    /// Returns the reported files: those of the revision, or all files of the directory before the first revision.
    package static func names(of machine: SourceMachine) -> [RelativePath] {
        let names = machine.record.files.isEmpty ? Array(machine.files.keys) : Array(machine.record.files.keys)
        return names.sorted()
    }

    /// Sets the state and its reason.
    package mutating func end(as state: FileState, _ error: FileError) {
        self.state = .file(state)
        self.error = error
    }

    private mutating func describeWay(of record: SourceRecord) {
        if record.isPaused {
            state = .file(.paused)
        } else if case .collecting = record.stage {
            let early: [FileState] = [.processing, .hashing]
            state = .file(early.first { state in files.contains { $0.state == state } } ?? .settling)
        } else if case .committing = record.stage {
            state = .file(.verifying)
        } else {
            describeFiles()
        }
    }

    /// Sets the state of the source to the most significant state among its files.
    private mutating func describeFiles() {
        let order: [FileState] = [
            .uploading, .processing, .hashing, .settling, .signedOut, .waiting, .queued, .verifying, .paused,
        ]
        let state = order.first { state in files.contains { $0.state == state } } ?? .verifying
        self.state = .file(state)
        guard state == .waiting || state == .signedOut else { return }
        let next = files.filter { $0.state == state }.min {
            ($0.nextAttemptAt?.milliseconds ?? .max) < ($1.nextAttemptAt?.milliseconds ?? .max)
        }
        error = next?.error
        nextAttemptAt = next?.nextAttemptAt
    }
}
