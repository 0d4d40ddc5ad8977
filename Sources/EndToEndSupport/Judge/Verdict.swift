/// What a trial may not end with.
package struct Verdict: Equatable {
    package var lost: [String] = []
    package var duplicates: [String] = []
    package var mixtures: [String] = []
    package var violations: [String] = []

    package init() {}

    package var isClean: Bool { lost.isEmpty && duplicates.isEmpty && mixtures.isEmpty && violations.isEmpty }

    /// `0 lost, 0 duplicates, 0 mixtures`, and the violations of the protocol where there are any.
    package var summary: String {
        "\(lost.count) lost, \(duplicates.count) duplicates, \(mixtures.count) mixtures"
            + (violations.isEmpty ? "" : ", \(violations.count) violations of the protocol")
    }

    /// One line for each finding.
    package var details: [String] {
        lost.map { "lost: \($0)" } + duplicates.map { "duplicate: \($0)" } + mixtures.map { "mixture: \($0)" }
            + violations.map { "violation: \($0)" }
    }
}
