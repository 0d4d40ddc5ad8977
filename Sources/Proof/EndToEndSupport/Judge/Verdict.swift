/// The faults that fail a trial.
package struct Verdict: Equatable {
    package var lost: [String] = []
    package var duplicates: [String] = []
    package var mixtures: [String] = []
    package var violations: [String] = []

    package var isClean: Bool { lost.isEmpty && duplicates.isEmpty && mixtures.isEmpty && violations.isEmpty }

    /// `0 lost, 0 duplicates, 0 mixtures`, plus the number of protocol violations if there are any.
    package var summary: String {
        "\(lost.count) lost, \(duplicates.count) duplicates, \(mixtures.count) mixtures"
            + (violations.isEmpty ? "" : ", \(violations.count) violations of the protocol")
    }

    /// One line per fault.
    package var details: [String] {
        lost.map { "lost: \($0)" } + duplicates.map { "duplicate: \($0)" } + mixtures.map { "mixture: \($0)" }
            + violations.map { "violation: \($0)" }
    }
}
