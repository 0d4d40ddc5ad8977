import Synchronization

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

/// The order in which trials start.
enum TrialOrder {
    /// The names of the trials that take longer than 10 s in a quick run, the longest first.
    private static let long = ["R10", "R11", "R7", "R27", "R29", "R25", "R28", "R13"]

    /// Puts the longest trials first. A long trial that starts last would run with idle cores beside it.
    static func longestFirst(_ trials: [any Trial]) -> [any Trial] {
        let first = long.compactMap { name in trials.first { $0.name == name } }
        return first + trials.filter { !long.contains($0.name) }
    }
}

/// A value that a server's hook and the trial both change.
final class Shared<Value: Sendable>: Sendable {
    private let mutex: Mutex<Value>

    init(_ value: Value) { mutex = Mutex(value) }

    func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result { mutex.withLock { body(&$0) } }
    var value: Value { mutex.withLock { $0 } }
}
