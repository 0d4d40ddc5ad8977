// Reports about dropped files.
extension PortraitMachine {
    /// Whether a picture is the last drop under its path. Earlier drops of the same path are no longer reported.
    func isLatest(_ id: UInt64, at path: RelativePath) -> Bool {
        if candidates.contains(where: { $0.drop.path == path && $0.id > id }) { return false }
        guard let newest, newest.drop.path == path else { return true }
        return newest.id <= id
    }

    /// Reports the newest picture's progress.
    mutating func reportNewest() {
        guard let newest, isLatest(newest.id, at: newest.drop.path) else { return }
        actions.append(.report(report(of: newest)))
    }

    /// A report of the newest picture while its fate is pending; nil otherwise.
    package var pending: PortraitReport? { newest.flatMap { $0.fate == .pending ? report(of: $0) : nil } }

    /// Announces a changed pending picture, unless another action of this event announces something already.
    mutating func announceChange(since before: PortraitReport?) {
        guard let pending, pending != before else { return }
        // The final state is announced after it is durable.
        if case .settling(let record) = phase, record.fate != .done { return }
        let isTold = actions.contains { if case .announce = $0 { true } else { false } }
        if !isTold { actions.append(.announce(.changed(pending.path, pending.key, pending.state))) }
    }

    mutating func report(_ candidate: Candidate) {
        guard isLatest(candidate.id, at: candidate.drop.path) else { return }
        let drop = candidate.drop
        var report = PortraitReport(path: drop.path, key: drop.key, state: .queued)
        if isAllPaused || drop.isPaused {
            report.state = .paused
        } else if let pause = candidate.work.pause {
            report.state = .waiting
            report.error = pause.error
            report.nextAttemptAt = pause.nextAttemptAt
        }
        actions.append(.report(report))
    }

    /// Reports the final state of a drop that was never stored.
    mutating func report(_ drop: PortraitDrop, ended state: FileState, _ error: FileError, now: Now) {
        actions.append(
            .report(
                PortraitReport(path: drop.path, key: drop.key, state: state, error: error, finishedAt: now.wall)))
    }

    /// Reports the final state of a stored picture that is no longer the newest.
    mutating func report(_ record: PortraitRecord, ended state: FileState, _ error: FileError, now: Now) {
        guard isLatest(record.id, at: record.drop.path) else { return }
        var report = describe(record, state)
        report.error = error
        report.finishedAt = now.wall
        actions.append(.report(report))
    }

    private func describe(_ record: PortraitRecord, _ state: FileState) -> PortraitReport {
        PortraitReport(
            path: record.drop.path, key: record.drop.key, state: state, error: record.error,
            attempts: record.attempts, remoteURL: record.url, startedAt: record.startedAt,
            finishedAt: record.finishedAt)
    }

    /// Describes the newest picture's progress.
    func report(of record: PortraitRecord) -> PortraitReport {
        switch record.fate {
        case .done: return describe(record, .done)
        case .failed: return describe(record, .failed)
        case .cancelled: return describe(record, .cancelled)
        case .pending: break
        }
        var report = describe(record, isHeld ? .paused : .queued)
        if case .settling = phase {
            report.state = .verifying
        } else if errand.isUnderWay {
            report.state = .uploading
        } else if let pause = errand.pause {
            report.error = pause.error
            if isHeld { return report }
            report.state = phase == .signedOut ? .signedOut : .waiting
            report.nextAttemptAt = pause.nextAttemptAt
        }
        return report
    }
}
