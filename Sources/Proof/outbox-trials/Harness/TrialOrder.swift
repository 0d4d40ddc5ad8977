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
