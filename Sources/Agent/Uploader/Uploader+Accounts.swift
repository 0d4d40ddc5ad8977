import Ledger
import Logging
import Remotes
import Reports
import Session
import UploadCore

// Ownership of files. If a file's owner is not signed in, the file keeps its progress and nothing of it is sent.
extension Uploader {
    /// Finds out who is signed in, and who was in the last run.
    ///
    /// - Returns: changes for the ledger, to be committed after the restore.
    func recogniseAccount() throws(LedgerError) -> [LedgerWrite] {
        let ledger = parts.ledger
        let account = parts.account
        let last = try ledger.setting(Account.setting).flatMap { String(validating: $0, as: UTF8.self) }
        let lastOwner = last.flatMap { Account(name: $0, session: account.session, change: {}).owner }
        // In ledgers of earlier formats, all drops belong to one account, which the records do not name.
        let legacy =
            try ledger.setting(LedgerSetting.legacyAccount).map { String(decoding: $0, as: UTF8.self) } ?? lastOwner
        book.ownership = Ownership(
            present: account.owner, turns: account.session.turns, legacy: legacy.flatMap { $0.isEmpty ? nil : $0 })
        let server = Array(serverName.utf8)
        return [
            .setting(LedgerSetting.legacyAccount, Array((ownership.legacy ?? "").utf8)),
            .setting(Account.setting, Array(account.name.utf8)),
            .setting(LedgerSetting.server, server), .setting(ownServerSetting, server),
            .setting(LedgerSetting.scope, nil),
        ]
    }

    /// Whether the account's last run used another server. If so, all its confirmations are void.
    func isOtherServer() throws(LedgerError) -> Bool {
        let ledger = parts.ledger
        for setting in [ownServerSetting, LedgerSetting.server] {
            if let known = try ledger.setting(setting) { return known != Array(serverName.utf8) }
        }
        guard let scope = try ledger.setting(LedgerSetting.scope) else { return false }
        return !scope.starts(with: Array((serverName + " ").utf8))
    }

    private var ownServerSetting: String { LedgerSetting.server + "/" + parts.account.name }

    private var serverName: String { parts.remote.scope.server }

    /// Keeps an upload parked, unless no path waits for it.
    ///
    /// - Returns: further changes for the ledger.
    func keepParked(_ entry: ParkedUploads.Entry) -> [LedgerWrite] {
        parked.add(entry) ? [] : [.forgetParked(entry.record.key, entry.record.scope)]
    }

    /// Resumes the parked uploads of the present account and keeps the others parked.
    func restoreParked(_ waiters: inout [ContentKey: [RestoredWaiter]]) throws(LedgerError) -> [LedgerWrite] {
        var entries: [(entry: ParkedUploads.Entry, receipts: [Int: String])] = []
        try parts.ledger.forEachParked({ record, acknowledged, receipts in
            entries.append((ParkedUploads.Entry(record: record, acknowledged: acknowledged), receipts))
            return true
        })
        var writes: [LedgerWrite] = []
        for (entry, receipts) in entries {
            let record = entry.record
            if record.scope == parts.remote.scope, let paths = waiters.removeValue(forKey: record.key) {
                writes.append(.unpark(record.key, record.scope))
                machine.restore(
                    record, acknowledged: entry.acknowledged, receipts: receipts, waiters: paths, now: now)
            } else {
                writes += keepParked(entry)
            }
        }
        return writes
    }

    /// Returns the owner of a new post.
    ///
    /// - Parameter changed: ctime of `source.toml` in nanoseconds since 1970.
    func newOwner(changed: Int64?) -> String? {
        if machine.signedOut != nil { return Ownership.nobody }
        return ownership.owner(changed: changed, isFound: !book.hasScanned)
    }

    /// Makes the owners of files durable whose contents are still unknown. The next start may find these files under
    /// another account.
    func keepOwners() async {
        await parts.ledger.commit(book.recordsOfOwners())
    }

    /// Assigns files that arrived while nobody was signed in to the present account. They must not go to the next
    /// one.
    func takeOverNobodys() {
        guard let present = ownership.present else { return }
        let writes = book.giveNobodys(to: present)
        if !writes.isEmpty { process([], writes: writes) }
        for directory in sources.directories {
            guard var entry = sources[directory], ownership.owner(entry.record.account) == nil else { continue }
            let actions = entry.machine.give(to: present)
            sources[directory] = entry
            perform(actions, of: directory)
        }
    }

    /// Adds to a report that the path waits for its owner.
    func describeParked(_ record: DropRecord, in report: inout FileReport) {
        if record.state != .paused {
            report.state = .signedOut
            report.error = .otherAccount(ownership.absentOwner(record.account) ?? "")
        }
        if let entry = parked.entry(for: record.path) { report.describe(entry.record, entry.acknowledged) }
    }
}
