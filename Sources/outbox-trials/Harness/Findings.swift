import EndToEndSupport

/// Collects the faults that a trial finds.
struct Findings {
    private(set) var complaints: [String] = []

    mutating func expect(_ condition: Bool, _ otherwise: @autoclosure () -> String) {
        if !condition { complaints.append(otherwise()) }
    }

    mutating func add(_ verdict: Verdict) { complaints += verdict.details }

    /// The outcome: passed if there are no complaints.
    func outcome(_ summary: String) -> Outcome {
        complaints.isEmpty ? .passed(summary) : .failed(summary, details: complaints)
    }
}
