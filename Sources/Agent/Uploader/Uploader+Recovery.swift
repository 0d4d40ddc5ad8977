import FileWatch
import Ledger
import LedgerCare
import LinuxSystem
import Sidecars
import UploadCore

// Recovery after the ledger was lost or damaged. Sidecars then hold the only record of the user's wishes
// (docs/ledger.md).
extension Uploader {
    /// Finds out whether the ledger was replaced since the last full scan of the outbox.
    func beginRecovery() throws(LedgerError) {
        guard let notice = try parts.ledger.setting(LedgerSetting.recovery) else { return }
        book.isRecovering = true
        status.problems[.ledgerLost] = String(decoding: notice, as: UTF8.self)
    }

    /// Whether everything is paused, according to the ledger. If the ledger was lost, the pause mark also counts.
    func restoredPause() throws(LedgerError) -> Bool {
        let isPaused =
            try parts.ledger.setting(LedgerSetting.allPaused) != nil
            || (book.isRecovering && parts.pauseMark?.isSet == true)
        if parts.pauseMark?.isSet != isPaused { parts.pauseMark?.set(isPaused) }
        return isPaused
    }
}
