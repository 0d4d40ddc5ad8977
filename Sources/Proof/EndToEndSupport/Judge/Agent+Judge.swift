import TestSupport

extension Agent {
    /// Waits until every path known to the judge has an outcome. Also returns on timeout, because the judge then
    /// reports what is missing.
    ///
    /// - Returns: Whether every path has an outcome.
    /// - Throws: ``Surprise`` if the agent ended meanwhile.
    @discardableResult
    package func outcomes(_ judge: Judge, timeout: Duration) async throws -> Bool {
        var left = judge.paths
        do {
            try await Poll.until("outcomes", timeout: timeout, every: .milliseconds(50)) {
                if let ending = program?.ending { throw Surprise("the agent ended by itself: \(ending)\n\(log)") }
                // Looks no further than to the first unfinished path: reading 100,000 sidecars at each check would
                // take the processor from the agent.
                while let path = left.last {
                    guard try judge.unfinished(among: [path], sidecar: { try sidecar($0) }).isEmpty else {
                        return false
                    }
                    left.removeLast()
                }
                // The agent may notice late that a file changed which had an outcome already.
                left = try judge.unfinished(among: judge.paths) { try sidecar($0) }
                return left.isEmpty
            }
        } catch is Poll.TimedOut {}
        return left.isEmpty
    }
}
