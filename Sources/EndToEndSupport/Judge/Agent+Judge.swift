import TestSupport

extension Agent {
    /// Waits until everything the judge knows has an outcome; returns also when the time is over, since the judge
    /// then says what is missing.
    ///
    /// - Returns: whether everything has one.
    /// - Throws: ``Surprise`` where the agent ended meanwhile.
    @discardableResult
    package func outcomes(_ judge: Judge, timeout: Duration) async throws -> Bool {
        var left = judge.paths
        do {
            try await Poll.until("outcomes", timeout: timeout, every: .milliseconds(50)) {
                if let ending = program?.ending { throw Surprise("the agent ended by itself: \(ending)\n\(log)") }
                left = try judge.unfinished(among: left) { try sidecar($0) }
                return left.isEmpty
            }
        } catch is Poll.TimedOut {}
        return left.isEmpty
    }
}
