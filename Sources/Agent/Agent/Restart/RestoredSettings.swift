import Ledger
import Session
import UploadCore

/// The settings of the last run, compared with those of this run.
struct RestoredSettings {
    /// Account and server of the last run.
    let lastRun: LastRun
    /// Why the ledger was replaced; `nil` if it was not, or if a full scan ended since.
    let recoveryNotice: String?
    /// Whether everything is paused.
    let isPaused: Bool
    /// Whether the rules for rejecting files changed.
    let judgesAgain: Bool
    /// Whether paths may wait for an account that is not signed in.
    let hasOthers: Bool
    /// Whether the start must read all paths and uploads, because the present account, server or rules change what
    /// becomes of some.
    let readsAll: Bool
    /// The outbox of the last run.
    let outbox: KnownOutbox
    /// Changes for the ledger, to be committed after the restore.
    let writes: [LedgerWrite]

    /// Reads the settings.
    ///
    /// - Parameters:
    ///   - account: the account of this run.
    ///   - server: the server in the scope of this run.
    ///   - rules: the fingerprint of this run's rules for rejecting files.
    ///   - recipes: the fingerprint of this run's recipes.
    ///   - portraitFolder: the folder of profile pictures of this run.
    ///   - hasPauseMark: whether `pause --all` is set beside the ledger. Counts only if the ledger was lost.
    init(
        _ ledger: Ledger, account: Account, server: String, rules: [UInt8], recipes: [UInt8],
        portraitFolder: RelativePath?,
        hasPauseMark: Bool
    ) throws(LedgerError) {
        lastRun = try LastRun(ledger, account: account, server: server)
        recoveryNotice = try ledger.setting(LedgerSetting.recovery).map { String(decoding: $0, as: UTF8.self) }
        let isPausedInLedger = try ledger.setting(LedgerSetting.allPaused) != nil
        isPaused = isPausedInLedger || (recoveryNotice != nil && hasPauseMark)
        judgesAgain = try ledger.setting(LedgerSetting.rules) != rules
        hasOthers = try ledger.setting(LedgerSetting.others) != nil
        let folder = portraitFolder?.bytes ?? []
        // Without the setting, the ledger is new, or of a version whose migration has everything read.
        let isOtherFolder = try ledger.setting(LedgerSetting.portraitFolder).map { $0 != folder } ?? false
        // Before there were recipes, none applied.
        let hasOtherRecipes = try ledger.setting(LedgerSetting.recipes) ?? [] != recipes
        readsAll =
            hasOtherRecipes || isOtherFolder || lastRun.isOtherAccount || lastRun.isOtherServer || judgesAgain
            || recoveryNotice != nil
            || hasOthers
        outbox = KnownOutbox(
            try ledger.setting(LedgerSetting.outbox),
            path: try ledger.setting(LedgerSetting.outboxPath).map { String(decoding: $0, as: UTF8.self) })
        writes =
            lastRun.writes + [
                .setting(LedgerSetting.rules, rules), .setting(LedgerSetting.portraitFolder, folder),
                .setting(LedgerSetting.allPaused, isPaused ? [1] : nil),
                .setting(LedgerSetting.recipes, recipes.isEmpty ? nil : recipes),
            ]
    }

    /// The first events of the upload machine.
    ///
    /// - Parameter gathered: which uploads belong together (`Posts.gatherAll`).
    func events(_ gathered: [MachineEvent], isSignedOut: Bool) -> [MachineEvent] {
        var events = gathered + [.tick]
        if isPaused { events.insert(.setAllPaused(true), at: 0) }
        if isSignedOut { events.insert(.setSignedOut(SessionKeeper.signedOut), at: 0) }
        return events
    }
}
