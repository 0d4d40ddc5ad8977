/// Finds the moment since which a process has used almost no CPU time.
struct QuietSpell {
    /// A moment in the life of a process, in seconds.
    struct Moment: Equatable {
        let time: Double
        let cpu: Double
    }

    /// How long the process must be quiet, in seconds.
    static let length = 0.5
    /// The CPU time that a quiet process may use meanwhile, in seconds.
    static let most = 0.005

    private var moments: ArraySlice<Moment> = []

    /// Adds a reading; readings come in the order of time.
    ///
    /// - Returns: When the process became quiet; nil if it has not been quiet for long enough.
    mutating func add(cpu: Double, at time: Double) -> Moment? {
        moments.append(Moment(time: time, cpu: cpu))
        moments = moments.drop { cpu - $0.cpu >= Self.most }
        guard let first = moments.first, time - first.time >= Self.length else { return nil }
        return first
    }
}
