import Ledger
import Session
import UploadCore

/// For whom and for which server the last run worked, compared with the present run.
struct LastRun {
    /// Which account owns which files in this run.
    let ownership: Ownership
    /// Whether the last run worked for another account, or is unknown.
    let isOtherAccount: Bool
    /// Whether the account's last run used another server. If so, all its confirmations are void.
    let isOtherServer: Bool
    /// Changes for the ledger, to be committed after the restore.
    let writes: [LedgerWrite]

    /// Reads what the ledger knows about the last run.
    ///
    /// - Parameters:
    ///   - account: the account of this run.
    ///   - server: protocol and server of this run (`RemoteScope.place`).
    init(_ ledger: Ledger, account: Account, server: String) throws(LedgerError) {
        let own = LedgerSetting.server + "/" + account.name
        let last = try ledger.setting(Account.setting).flatMap { String(validating: $0, as: UTF8.self) }
        isOtherAccount = last != account.name
        let lastOwner = last.flatMap { Account(name: $0, session: account.session, change: {}).owner }
        // In ledgers of earlier formats, all drops belong to one account, which the records do not name.
        let legacy =
            try ledger.setting(LedgerSetting.legacyAccount).map { String(decoding: $0, as: UTF8.self) } ?? lastOwner
        ownership = Ownership(
            present: account.owner, turns: account.session.turns, legacy: legacy.flatMap { $0.isEmpty ? nil : $0 })
        isOtherServer = try Self.isOther(server, in: [own, LedgerSetting.server], ledger)
        let name = Array(server.utf8)
        writes = [
            .setting(LedgerSetting.legacyAccount, Array((ownership.legacy ?? "").utf8)),
            .setting(Account.setting, Array(account.name.utf8)),
            .setting(LedgerSetting.server, name), .setting(own, name),
            .setting(LedgerSetting.scope, nil),
        ]
    }

    private static func isOther(
        _ server: String, in settings: [String], _ ledger: Ledger
    ) throws(LedgerError) -> Bool {
        for setting in settings {
            if let known = try ledger.setting(setting) { return known != Array(server.utf8) }
        }
        // Ledgers of earlier formats store the whole scope.
        guard let scope = try ledger.setting(LedgerSetting.scope) else { return false }
        return !scope.starts(with: Array((server + " ").utf8))
    }
}
