import Glibc
import Ledger
import Logging
import SystemPackage

/// Opens the ledger so that damage to its file, whatever it is, costs neither files nor the agent: a file that may be
/// damaged is looked through before LMDB maps it, and one that is damaged is replaced by what can be saved of it.
///
/// What can't be saved is found again: files by the scan of the outbox, what was sent by asking the server.
final class LedgerCare: Sendable {
    private let state: String
    private let logger: Logger
    private let boot: String
    private let mark: LedgerMarkFile?
    private let file: LedgerFile

    /// - Parameter state: the state directory, owned by this process.
    init(state: String, logger: Logger, boot: String = LedgerMarkFile.bootID()) {
        self.state = state
        self.logger = logger
        self.boot = boot
        file = LedgerFile(directory: state)
        do throws(Errno) {
            mark = try LedgerMarkFile(path: state + "/ledger-mark", boot: boot)
        } catch {
            logger.warning(
                "how this run ends can't be noted; the ledger is looked through at every start",
                metadata: ["path": "\(state)/ledger-mark", "reason": "\(error)"])
            mark = nil
        }
    }

    /// Looks through the ledger where that is due, rebuilds it where it is damaged, and opens it.
    ///
    /// - Parameter onTrouble: see `Ledger`.
    /// - Throws: `newerSchema`; `unreadable` or `storage` where neither the old nor a new file can be used.
    func open(onTrouble: @escaping @Sendable (LedgerTrouble?) -> Void) throws(LedgerError) -> Ledger {
        removeLeftovers()
        let last = mark?.read()
        let crashes = Self.crashes(upTo: last)
        let check = LedgerCheck(after: last, crashes: crashes, boot: boot, size: file.size ?? 0)
        mark?.note(.opening, crashes: crashes)
        mark?.noteCrashes()
        try carryOut(check)
        let ledger = try openOrRebuild { [mark] trouble in
            if trouble?.kind == .damaged { mark?.note(.suspect, crashes: crashes) }
            onTrouble(trouble)
        }
        mark?.note(.running, crashes: crashes)
        return ledger
    }

    /// Notes that the ledger was closed.
    func close() {
        if let mark, mark.read()?.phase == .running { mark.note(.closed, crashes: 0) }
    }

    private static func crashes(upTo mark: LedgerMark?) -> Int {
        guard let mark, mark.phase == .crashed || mark.phase == .opening else { return 0 }
        return mark.crashes + 1
    }

    private func carryOut(_ check: LedgerCheck) throws(LedgerError) {
        switch check {
        case .none: return
        case .inspect:
            if case .damaged(let reason) = try file.inspect() { try rebuild(reason) }
        case .rebuild(let reason):
            // Throws where a newer program wrote it: that one is never touched.
            if try file.inspect() != .missing { try rebuild(reason) }
        }
    }

    private func openOrRebuild(
        _ onTrouble: @escaping @Sendable (LedgerTrouble?) -> Void
    ) throws(LedgerError) -> Ledger {
        do throws(LedgerError) {
            return try Ledger(directory: state, logger: logger, onTrouble: onTrouble)
        } catch {
            guard error.isDamage else { throw error }
            if try file.inspect() != .missing { try rebuild("\(error)") }
        }
        return try Ledger(directory: state, logger: logger, onTrouble: onTrouble)
    }

    private func rebuild(_ reason: String) throws(LedgerError) {
        let salvage = try LedgerSalvage.make(at: unfinished, from: file)
        let damaged = DamagedLedgers(directory: state)
        let aside: String
        do throws(Errno) {
            aside = try damaged.replace(file.path, with: unfinished, time: time(nil))
        } catch {
            throw .unreadable(path: file.path, reason: "it is damaged and can't be moved aside: \(error)")
        }
        damaged.trim(keeping: aside)
        logger.error(
            """
            the ledger was damaged: it was moved aside and rebuilt from what could be read of it; the rest is found \
            again in the outbox and on the server, and no file is lost
            """,
            metadata: [
                "reason": "\(reason)", "kept": "\(aside)", "saved": "\(salvage.saved.values.reduce(0, +)) records",
                "remedy": "check the disk that holds \(state) (see the kernel's log)",
            ])
    }

    private var unfinished: String { file.path + ".rebuilding" }

    /// What a rebuilding that was cut short left behind.
    private func removeLeftovers() {
        unlink(unfinished)
        unlink(unfinished + "-lock")
    }
}
