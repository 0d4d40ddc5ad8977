import UploadCore

// What is told of dropped files.
extension PortraitMachine {
    /// Whether a picture is the last that was dropped under its name: of the ones before it nothing is told any more.
    func isLatest(_ id: UInt64, at path: RelativePath) -> Bool {
        if candidates.contains(where: { $0.drop.path == path && $0.id > id }) { return false }
        guard let newest, newest.drop.path == path else { return true }
        return newest.id <= id
    }

    /// Tells how far the newest picture is.
    mutating func reportNewest() {
        guard let newest, isLatest(newest.id, at: newest.drop.path) else { return }
        actions.append(.report(report(of: newest)))
    }

    /// How far the newest picture is, while its end is not known.
    var pending: PortraitReport? { newest.flatMap { $0.fate == .pending ? report(of: $0) : nil } }

    /// Has those who follow the profile picture told, where nothing else that was decided leads to that.
    mutating func announceChange(since before: PortraitReport?) {
        guard let pending, pending != before else { return }
        // What it came to is told when it is durable.
        if case .settling(let record, _) = phase, record.fate != .done { return }
        let isTold = actions.contains { if case .announce = $0 { true } else { false } }
        if !isTold { actions.append(.announce(.changed(pending.path, pending.key, pending.state))) }
    }

    mutating func report(_ candidate: Candidate) {
        guard isLatest(candidate.id, at: candidate.drop.path) else { return }
        let drop = candidate.drop
        var report = PortraitReport(path: drop.path, key: drop.key, state: .queued)
        if isAllPaused || drop.isPaused {
            report.state = .paused
        } else if let pause = candidate.pause {
            report.state = .waiting
            report.error = pause.error
            report.nextAttemptAt = pause.shown
        }
        actions.append(.report(report))
    }

    /// Tells of a drop that reached its end without having been taken.
    mutating func report(_ drop: PortraitDrop, ended state: FileState, _ error: FileError, now: Now) {
        actions.append(
            .report(
                PortraitReport(path: drop.path, key: drop.key, state: state, error: error, finishedAt: now.wall)))
    }

    /// Tells of a picture that was taken and is not the newest any more.
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

    /// How far the newest picture is.
    func report(of record: PortraitRecord) -> PortraitReport {
        switch record.fate {
        case .done: return describe(record, .done)
        case .failed: return describe(record, .failed)
        case .cancelled: return describe(record, .cancelled)
        case .pending: break
        }
        var report = describe(record, isHeld ? .paused : .queued)
        switch phase {
        case .idle, .ready: break
        case .sending: report.state = .uploading
        case .settling: report.state = .verifying
        case .waiting(let pause):
            report.error = pause.error
            if isHeld { break }
            report.state = .waiting
            report.nextAttemptAt = pause.shown
        case .signedOut(let pause):
            report.error = pause.error
            if isHeld { break }
            report.state = .signedOut
            report.nextAttemptAt = pause.shown
        }
        return report
    }
}
