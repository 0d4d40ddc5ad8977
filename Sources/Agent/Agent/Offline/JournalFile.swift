package import AgentConfiguration
package import ControlAPI
import Glibc
package import Ledger
import Logging
package import Reports
import UploadCore

/// The journal of a configuration's ledger, for commands. Reads the ledger itself, with or without a running agent.
package final class JournalFile {
    private let ledger: Ledger?
    private let path: String

    /// Opens the ledger.
    ///
    /// - Throws: `AgentFailure` if the ledger can't be read.
    package init(_ configuration: Configuration) throws(AgentFailure) {
        let state = configuration.state
        path = state + "/ledger.lmdb"
        guard LedgerTraces(state: state).hasLedger else {
            ledger = nil
            return
        }
        // LMDB must not map a file that may be damaged. A running agent has checked its ledger.
        if !StateDirectory.isOwned(state), !LedgerCare.isTrusted(state: state),
            case .damaged(let reason)? = try? LedgerFile(directory: state).inspect()
        {
            throw .inputOutput(path: path, reason: "the ledger is damaged (\(reason)); `outbox run` rebuilds it")
        }
        do {
            ledger = try Ledger(
                directory: state, logger: Logger(label: "outbox") { _ in SwiftLogNoOpLogHandler() },
                onTrouble: { _ in })
        } catch {
            throw .inputOutput(path: path, reason: "\(error)")
        }
    }

    deinit { ledger?.close() }

    /// Returns the rows that a query wants, the latest first.
    package func journal(_ query: JournalQuery) throws(AgentFailure) -> Journal {
        try reading { ledger throws(LedgerError) in
            Journal(ledger: try ledger.journalID(), entries: try ledger.journal(query))
        } ?? Journal(ledger: "")
    }

    /// Calls `body` with pages of all rows, the earliest first.
    package func forEachPage(_ body: (Journal) throws -> Void) throws {
        var next: UInt64? = 0
        while let number = next {
            let page = try reading { ledger throws(LedgerError) in
                Journal(ledger: try ledger.journalID(), entries: try ledger.journal(after: number, atMost: 1024))
            }
            guard let page, let last = page.entries.last else { return }
            try body(page)
            next = last.number
        }
    }

    private func reading<Answer>(
        _ question: (Ledger) throws(LedgerError) -> Answer
    ) throws(AgentFailure) -> Answer? {
        guard let ledger else { return nil }
        do throws(LedgerError) {
            return try question(ledger)
        } catch {
            throw .inputOutput(path: path, reason: "\(error)")
        }
    }
}
