/// A trial: exposes the agent to a fault, then judges the outcome of the files.
protocol Trial: Sendable {
    /// The trial's name in the list: `R5`.
    var name: String { get }
    /// A few words about the trial.
    var title: String { get }
    /// The condition for passing.
    var bar: String { get }
    /// Whether other trials may run beside this one.
    var company: Company { get }

    func run(_ context: TrialContext) async throws -> Outcome
}

extension Trial {
    var company: Company { .always }
}

/// When other trials may run beside a trial.
enum Company {
    /// In all runs: the trial judges no times, or times with a wide margin.
    case always
    /// In quick runs only: the trial measures times, and a quick run extends its limits (`TrialContext.atMost`).
    case inQuickRuns
    /// Never.
    case none

    /// Whether other trials may run beside a trial in runs of this size.
    func isWelcome(in size: TrialContext.Size) -> Bool {
        switch self {
        case .always: true
        case .inQuickRuns: size == .quick
        case .none: false
        }
    }
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
