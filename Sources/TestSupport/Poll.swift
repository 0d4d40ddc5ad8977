/// Waits for conditions by looking again and again, with a deadline that only a broken test ever reaches.
public enum Poll {
    /// A condition that did not come true in time.
    public struct TimedOut: Error, CustomStringConvertible {
        /// What was waited for, for how long, and what was seen last.
        public let description: String
    }

    /// Returns once `condition` is true.
    ///
    /// - Parameters:
    ///   - what: what is waited for, for the message.
    ///   - timeout: how long to go on looking.
    ///   - interval: the pause between two looks.
    ///   - lastState: what to tell about the state of things when the time is over.
    ///   - condition: looked at until it is true.
    /// - Throws: ``TimedOut``, and at once whatever `condition` throws.
    public static func until(
        _ what: String,
        timeout: Duration = .seconds(60),
        every interval: Duration = .milliseconds(10),
        lastState: () -> String = { "" },
        isolation: isolated (any Actor)? = #isolation,
        condition: () async throws -> Bool
    ) async throws {
        let clock = ContinuousClock()
        let deadline = clock.now.advanced(by: timeout)
        while true {
            // Asked before the look: a machine that stood still in between has one more look coming to it.
            let isLast = clock.now >= deadline
            if try await condition() { return }
            guard !isLast else {
                let state = lastState()
                throw TimedOut(
                    description: "waited \(timeout) in vain: \(what)" + (state.isEmpty ? "" : "; last seen: \(state)"))
            }
            try await clock.sleep(for: interval)
        }
    }

    /// Returns the first value that `look` gives.
    ///
    /// - Throws: ``TimedOut``, and at once whatever `look` throws.
    public static func value<Value>(
        _ what: String,
        timeout: Duration = .seconds(60),
        every interval: Duration = .milliseconds(10),
        lastState: () -> String = { "" },
        isolation: isolated (any Actor)? = #isolation,
        look: () async throws -> Value?
    ) async throws -> Value {
        var found: Value?
        while found == nil {
            try await until(what, timeout: timeout, every: interval, lastState: lastState) {
                found = try await look()
                return found != nil
            }
        }
        guard let found else { throw TimedOut(description: what) }
        return found
    }
}
