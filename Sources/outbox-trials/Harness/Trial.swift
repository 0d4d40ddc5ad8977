/// One line of the list of trials: something is done to the agent, and what became of the files is judged.
protocol Trial: Sendable {
    /// As in the list: `R5`.
    var name: String { get }
    /// What is done, in a few words.
    var title: String { get }
    /// What must hold for it to pass.
    var bar: String { get }
    /// Whether it is about time, or keeps the machine busy, so that nothing may run beside it.
    var isAlone: Bool { get }

    func run(_ context: TrialContext) async throws -> Outcome
}

extension Trial {
    var isAlone: Bool { false }
}

/// How a trial ended.
enum Outcome: Equatable {
    /// The bar was reached; what was seen.
    case passed(String)
    /// It was not; what was seen, and each thing that is wrong.
    case failed(String, details: [String])
    /// This machine can't show it; why.
    case skipped(String)
}
