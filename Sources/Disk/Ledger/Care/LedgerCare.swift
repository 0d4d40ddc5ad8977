import Glibc
package import Logging
import SystemPackage

/// Opens the ledger, so that damage to its file costs neither files nor the agent. A suspicious file is inspected
/// before LMDB maps it. A damaged file is replaced by its readable records.
///
/// Lost records are found again: a scan of the outbox finds the files, and the server reports its contents.
package final class LedgerCare: Sendable {
    private let state: String
    private let logger: Logger
    private let boot: String
    private let mark: LedgerMarkFile?
    private let file: LedgerFile

    /// - Parameter state: the state directory, owned by this process.
    package init(state: String, logger: Logger, boot: String = LedgerMarkFile.bootID()) {
        self.state = state
        self.logger = logger
        self.boot = boot
        file = LedgerFile(directory: state)
        do throws(Errno) {
            mark = try LedgerMarkFile(path: state + "/ledger-mark", boot: boot)
        } catch {
            logger.warning(
                "the end of this run can't be recorded, so every start checks the whole ledger",
                metadata: ["path": "\(state)/ledger-mark", "reason": "\(error)"])
            mark = nil
        }
    }

    /// Inspects the ledger when due, rebuilds a damaged ledger, and opens the result.
    ///
    /// - Parameter onTrouble: see `Ledger`.
    /// - Throws: `newerSchema`; `unreadable` or `storage` if neither the old nor a new file can be used.
    package func open(onTrouble: @escaping @Sendable (LedgerTrouble?) -> Void) throws(LedgerError) -> Ledger {
        removeLeftovers()
        let last = mark?.read()
        let crashes = Self.crashes(upTo: last)
        let check = LedgerCheck(after: last, crashes: crashes, boot: boot, size: file.size ?? 0)
        let traces = LedgerTraces(state: state, mark: last)
        // Replace a lost ledger first: the proofs of its loss must survive an interrupted start.
        if traces.isLost { try replace(.missing(proofs: traces.proofs)) }
        mark?.note(.opening, crashes: crashes)
        mark?.noteCrashes()
        if !traces.isLost { try carryOut(check, hasCrashed: last?.phase == .crashed) }
        let ledger = try openOrRebuild { [mark] trouble in
            if trouble?.kind == .damaged { mark?.note(.suspect, crashes: crashes) }
            onTrouble(trouble)
        }
        mark?.note(.running, crashes: crashes)
        return ledger
    }

    /// Whether a start would open the ledger without checking it first. For programs that only read.
    package static func isTrusted(state: String, boot: String = LedgerMarkFile.bootID()) -> Bool {
        guard let mark = try? LedgerMarkFile(reading: state + "/ledger-mark", boot: boot) else { return false }
        let size = LedgerFile(directory: state).size ?? 0
        return LedgerCheck(after: mark.read(), crashes: 0, boot: boot, size: size) == .none
    }

    /// Records that the ledger was closed.
    package func close() {
        if let mark, mark.read()?.phase == .running { mark.note(.closed, crashes: 0) }
    }

    private static func crashes(upTo mark: LedgerMark?) -> Int {
        guard let mark, mark.phase == .crashed || mark.phase == .opening else { return 0 }
        return mark.crashes + 1
    }

    private func carryOut(_ check: LedgerCheck, hasCrashed: Bool) throws(LedgerError) {
        let crash = hasCrashed ? "the last run crashed; " : ""
        switch check {
        case .none: return
        case .inspect:
            switch try file.inspect() {
            case .damaged(let reason): try replace(.damaged(reason: crash + reason))
            case .sound where hasCrashed:
                logger.warning(
                    "the last run crashed; the agent checked the ledger, and it is sound",
                    metadata: [
                        "remedy":
                            "see the log of the last run: if memory could not be allocated, give the agent more; else report it"
                    ])
            case .sound, .missing: return
            }
        case .rebuild(let reason):
            // Throws if a newer program wrote the file. Such a file is never changed.
            if try file.inspect() != .missing { try replace(.damaged(reason: crash + reason)) }
        }
    }

    private func openOrRebuild(
        _ onTrouble: @escaping @Sendable (LedgerTrouble?) -> Void
    ) throws(LedgerError) -> Ledger {
        do throws(LedgerError) {
            return try Ledger(directory: state, logger: logger, onTrouble: onTrouble)
        } catch {
            guard error.isDamage else { throw error }
            if try file.inspect() != .missing { try replace(.damaged(reason: "\(error)")) }
        }
        return try Ledger(directory: state, logger: logger, onTrouble: onTrouble)
    }

    /// Replaces a missing or damaged ledger with a new one that holds all readable records of the old ledger.
    ///
    /// The new ledger contains the recovery setting from its first moment: until the outbox was scanned, sidecars
    /// tell which files were cancelled or paused.
    private func replace(_ loss: LedgerLoss) throws(LedgerError) {
        let notice = loss.notice(file.path)
        let salvage = try LedgerSalvage.make(
            at: unfinished, from: file, settings: [LedgerSetting.recovery: Array(notice.utf8)])
        switch loss {
        case .missing(let proofs):
            do throws(Errno) {
                try DamagedLedgers(directory: state).place(unfinished, as: file.path)
            } catch {
                throw .unreadable(
                    path: file.path, reason: "the ledger is lost, and a new one can't be created: \(error)")
            }
            logger.error(
                """
                the ledger was lost: the agent starts a new one, and finds files again in the outbox and on the server; \
                files whose sidecars say cancelled or paused stay so
                """,
                metadata: [
                    "path": "\(file.path)", "proof": "\(proofs.joined(separator: ", "))",
                    "remedy": "find out what removed the file, and check `outbox status`",
                ])
        case .damaged(let reason): try moveAside(reason, saved: salvage.saved.values.reduce(0, +))
        }
    }

    private func moveAside(_ reason: String, saved: Int) throws(LedgerError) {
        let damaged = DamagedLedgers(directory: state)
        let aside: String
        do throws(Errno) {
            aside = try damaged.replace(file.path, with: unfinished, time: time(nil))
        } catch {
            throw .unreadable(path: file.path, reason: "the ledger is damaged and can't be moved aside: \(error)")
        }
        damaged.trim(keeping: aside)
        logger.error(
            """
            the ledger was damaged: the agent moved it aside and rebuilt it from the readable records; the agent finds \
            the rest again in the outbox and on the server, and no file is lost
            """,
            metadata: [
                "reason": "\(reason)", "kept": "\(aside)", "saved": "\(saved) records",
                "remedy": "check the disk that holds \(state) (see the kernel's log)",
            ])
    }

    private var unfinished: String { file.path + ".rebuilding" }

    /// Removes the remains of an interrupted rebuild.
    private func removeLeftovers() {
        unlink(unfinished)
        unlink(unfinished + "-lock")
    }
}
