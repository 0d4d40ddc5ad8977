/// A trial: exposes the agent to a fault, then judges the outcome of the files.
protocol Trial: Sendable {
    /// The trial's name in the list: `R5`.
    var name: String { get }
    /// A few words about the trial.
    var title: String { get }
    /// The condition for passing.
    var bar: String { get }
    /// Whether the trial must run alone, because it measures time or loads the machine.
    var isAlone: Bool { get }

    func run(_ context: TrialContext) async throws -> Outcome
}

extension Trial {
    var isAlone: Bool { false }
}

/// The result of a trial.
enum Outcome: Equatable {
    /// The trial passed, with a summary.
    case passed(String)
    /// The trial failed, with a summary and a line per fault.
    case failed(String, details: [String])
    /// This machine cannot run the trial, with the reason.
    case skipped(String)
}
