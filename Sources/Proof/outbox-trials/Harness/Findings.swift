import EndToEndSupport

/// Collects the faults that a trial finds.
struct Findings {
    private(set) var complaints: [String] = []

    mutating func expect(_ condition: Bool, _ otherwise: @autoclosure () -> String) {
        if !condition { complaints.append(otherwise()) }
    }

    /// Expects that every file is uploaded: no fault of the trial justifies the failure of a file.
    mutating func expectAllDone(_ judge: Judge, _ agent: Agent) throws {
        for path in judge.paths {
            let sidecar = try agent.sidecar(path)
            expect(sidecar?.state == .done, "\(path) is not done: \(sidecar?.brief ?? "no sidecar")")
        }
    }

    mutating func add(_ verdict: Verdict) { complaints += verdict.details }

    /// The outcome: passed if there are no complaints.
    func outcome(_ summary: String) -> Outcome {
        complaints.isEmpty ? .passed(summary) : .failed(summary, details: complaints)
    }
}
