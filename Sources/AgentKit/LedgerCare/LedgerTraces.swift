import LinuxSystem

/// Whether a state directory has a ledger, and what proves that there was one.
struct LedgerTraces: Equatable, Sendable {
    /// Whether `ledger.lmdb` is there and holds anything.
    var hasLedger: Bool
    /// Names of files that only an agent with a ledger makes.
    var proofs: [String]

    /// Whether there was a ledger and is none any more.
    var isLost: Bool { !hasLedger && !proofs.isEmpty }

    init(hasLedger: Bool, proofs: [String]) {
        self.hasLedger = hasLedger
        self.proofs = proofs
    }

    /// Looks at a state directory without changing anything.
    init(state: String) {
        let mark = Self.text(of: state + "/ledger-mark").flatMap(LedgerMark.init(line:))
        self.init(state: state, mark: mark)
    }

    /// The same, with the mark that the last run left.
    init(state: String, mark: LedgerMark?) {
        // A size that can't be told, of a directory for instance, is no loss: opening the file says what is wrong.
        let status = try? FileStatus(path: state + "/ledger.lmdb")
        hasLedger = status.map { $0.kind != .regular || $0.size > 0 } ?? false
        proofs = []
        // A first start that died before it had a ledger leaves `opening`.
        if let mark, mark.phase != .opening { proofs.append("ledger-mark") }
        for name in ["acknowledged", PauseMark.name] where (try? FileStatus(path: "\(state)/\(name)")) != nil {
            proofs.append(name)
        }
    }

    private static func text(of path: String) -> String? { ProcFile.text(path) }
}

/// Why the agent can't go on with the ledger it had.
enum LedgerLoss: Equatable, Sendable {
    /// It is gone or empty; the proofs are names of other files in the state directory.
    case missing(proofs: [String])
    /// The file is not what was written to it.
    case damaged(reason: String)

    /// What is told by `status`, `doctor` and the service manager until a day has passed.
    func notice(_ path: String) -> String {
        let what =
            switch self {
            case .missing: "\(path) was lost"
            case .damaged(let reason): "\(path) was damaged and is rebuilt (\(reason))"
            }
        return "\(what); files that were cancelled or paused stay so as far as their sidecars tell; see the log"
    }
}
