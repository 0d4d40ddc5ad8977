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
        book.isRecovering = true
        problems["ledger_lost"] = String(decoding: notice, as: UTF8.self)
    }

    /// Whether everything is paused: as the ledger says, or, where it was lost, as the mark beside it does.
    func restoredPause() throws(LedgerError) -> Bool {
        let isPaused =
            try parts.ledger.setting(Setting.allPaused) != nil || (book.isRecovering && parts.pauseMark?.isSet == true)
        if parts.pauseMark?.isSet != isPaused { parts.pauseMark?.set(isPaused) }
        return isPaused
    }

    /// What the sidecar of a source tells that the ledger does not know any more.
    func recoveredWishes(ofSource directory: RelativePath) -> [SourceEvent] {
        guard book.isRecovering, let word = parts.sidecars.lastWord(of: .source(directory))?.word else { return [] }
        if word.isCancelledByUser { return [.cancel] }
        return word.fileState == .paused ? [.setPaused(true)] : []
    }

    /// After a day nobody need be told any longer that the ledger began anew.
    func forgetNotice() {
        if now.monotonic - startedAt > Self.noticeTime { problems["ledger_lost"] = nil }
    }
}
