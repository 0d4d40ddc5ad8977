import FileWatch
import Ledger
import LinuxSystem
import UploadCore

// After the ledger was lost or damaged: what only sidecars still tell of the user's wishes (docs/ledger.md).
extension Uploader {
    /// How long `status` and `doctor` tell that the ledger began anew.
    private static let noticeTime = Duration.seconds(24 * 3600)

    /// Finds out whether the ledger began anew since the outbox was scanned last.
    func beginRecovery() throws(LedgerError) {
        guard let notice = try parts.ledger.setting(Setting.recovery) else { return }
        isRecovering = true
        problems["ledger_lost"] = String(decoding: notice, as: UTF8.self)
    }

    /// Whether everything is paused: as the ledger says, or, where it was lost, as the mark beside it does.
    func restoredPause() throws(LedgerError) -> Bool {
        let isPaused =
            try parts.ledger.setting(Setting.allPaused) != nil || (isRecovering && parts.pauseMark?.isSet == true)
        if parts.pauseMark?.isSet != isPaused { parts.pauseMark?.set(isPaused) }
        return isPaused
    }

    /// Keeps a file cancelled or paused that its sidecar calls so, where the ledger does not know the path any more.
    ///
    /// - Returns: whether nothing more is to be done about the file.
    func recoverWish(of path: RelativePath, _ status: FileStatus) -> Bool {
        guard isRecovering, drops[path] == nil, record(of: path) == nil,
            let (word, written) = parts.sidecars.lastWord(of: .file(path))
        else { return false }
        if word.isCancelledByUser {
            // Written anew after it was cancelled: that is another file.
            guard word.size.map({ $0 == status.size }) ?? true, status.modified <= written else { return false }
            var record = DropRecord(path: path, state: .cancelled, acceptedAt: now.wall)
            record.account = newOwner(changed: status.changed)
            record.identity = FileIdentity(status)
            record.finishedAt = now.wall
            record.error = FileError(code: "cancelled", message: "cancelled by the user", retryable: false)
            process([], writes: [keep(record)], reporting: path)
            return true
        }
        if word.fileState == .paused, !wasHeldBySource(path) {
            wishes.paused.insert(path)
            var record = DropRecord(path: path, state: .settling, acceptedAt: now.wall)
            record.account = newOwner(changed: status.changed)
            process([], writes: [rememberWishes(for: record)])
        }
        return false
    }

    /// What the sidecar of a source tells that the ledger does not know any more.
    func recoveredWishes(ofSource directory: RelativePath) -> [SourceEvent] {
        guard isRecovering, let word = parts.sidecars.lastWord(of: .source(directory))?.word else { return [] }
        if word.isCancelledByUser { return [.cancel] }
        return word.fileState == .paused ? [.setPaused(true)] : []
    }

    /// Whether a file may have been shown as paused only because its source was held.
    private func wasHeldBySource(_ path: RelativePath) -> Bool {
        var directory = path.parent
        while !directory.bytes.isEmpty {
            if let word = parts.sidecars.lastWord(of: .source(directory))?.word {
                return ["draft", "paused", "done"].contains(word.state)
            }
            directory = directory.parent
        }
        return false
    }

    /// After a full scan: the sidecar of every file that is there was asked for.
    func endRecovery(_ summary: ScanSummary) {
        if isRecovering, summary.unreadable.isEmpty, summary.lostMounts.isEmpty {
            isRecovering = false
            process([], writes: [.setting(Setting.recovery, nil)])
        }
        if now.monotonic - startedAt > Self.noticeTime { problems["ledger_lost"] = nil }
    }
}
