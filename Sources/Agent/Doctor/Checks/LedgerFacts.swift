import Ledger

/// Observations about the ledger, made without opening it.
struct LedgerFacts: Equatable, Sendable {
    /// The state directory.
    var state: String
    var traces: LedgerTraces
    /// Names of damaged ledgers that were moved aside.
    var aside: [String]

    /// Examines a state directory without changing anything.
    init(probing state: String) {
        self.init(
            state: state, traces: LedgerTraces(state: state), aside: DamagedLedgers(directory: state).names())
    }

    init(state: String, traces: LedgerTraces, aside: [String]) {
        self.state = state
        self.traces = traces
        self.aside = aside
    }

    /// Empty for an intact ledger and for one that does not exist yet.
    var findings: [Finding] {
        var findings: [Finding] = []
        if traces.isLost {
            findings.append(
                Finding(
                    .state, .warning,
                    "\(state)/ledger.lmdb is lost: \(traces.proofs.joined(separator: " and ")) prove that it existed",
                    remedy: "restore it before the next start; otherwise the agent starts a new ledger, and files "
                        + "stay cancelled or paused only if their sidecars say so"))
        }
        if !aside.isEmpty {
            findings.append(
                Finding(
                    .state, .note, "a damaged ledger was moved aside: \(aside.joined(separator: ", "))",
                    remedy: "check the disk that holds \(state) (see the kernel's log); you may remove the file"))
        }
        return findings
    }
}
