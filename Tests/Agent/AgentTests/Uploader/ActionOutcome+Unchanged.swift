import Reports

extension Sequence {
    /// The files or posts that an action did not change, with the reason.
    func unchanged<Subject>() -> [(subject: Subject, reason: String)] where Element == ActionOutcome<Subject> {
        compactMap { outcome in outcome.refusal.map { (outcome.subject, $0) } }
    }
}
