import LinuxSystem

/// Traces of a ledger in a state directory: the ledger itself, or proofs of a lost one.
package struct LedgerTraces: Equatable, Sendable {
    /// Whether `ledger.lmdb` exists and is not empty.
    package var hasLedger: Bool
    /// Names of files that only an agent with a ledger makes.
    package var proofs: [String]

    /// Whether the ledger existed and is missing now.
    package var isLost: Bool { !hasLedger && !proofs.isEmpty }

    /// Inspects a state directory without changing anything.
    package init(state: String) {
        let mark = Self.text(of: state + "/ledger-mark").flatMap(LedgerMark.init(line:))
        self.init(state: state, mark: mark)
    }

    /// Inspects a state directory, given the mark of the last run.
    init(state: String, mark: LedgerMark?) {
        // A directory or other special file does not count as a loss: opening the ledger reports the problem.
        let status = try? FileStatus(path: state + "/ledger.lmdb")
        hasLedger = status.map { $0.kind != .regular || $0.size > 0 } ?? false
        proofs = []
        // A first start that died before creating a ledger leaves `opening`.
        if let mark, mark.phase != .opening { proofs.append("ledger-mark") }
        for name in ["acknowledged", PauseMark.name] where (try? FileStatus(path: "\(state)/\(name)")) != nil {
            proofs.append(name)
        }
    }

    private static func text(of path: String) -> String? { ProcFile.text(path) }
}

/// Why the agent can't continue with its ledger.
enum LedgerLoss: Equatable, Sendable {
    /// The ledger is missing or empty. The proofs are names of other files in the state directory.
    case missing(proofs: [String])
    /// The file does not hold what was written to it.
    case damaged(reason: String)

    /// The message that `status`, `doctor` and the service manager show until a day has passed.
    func notice(_ path: String) -> String {
        let what =
            switch self {
            case .missing: "\(path) was lost"
            case .damaged(let reason): "\(path) was damaged and is rebuilt (\(reason))"
            }
        return "\(what); cancelled and paused files stay so if their sidecars say so; see the log"
    }
}
