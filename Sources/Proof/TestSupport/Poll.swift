/// Polls conditions until a deadline that only a broken test reaches, also while other programs fill the disk.
public enum Poll {
    /// A condition did not become true in time.
    public struct TimedOut: Error, CustomStringConvertible {
        /// The awaited condition, the timeout, and the last state.
        public let description: String
    }

    /// Waits until `condition` is true.
    ///
    /// - Parameters:
    ///   - what: The awaited condition, for the message.
    ///   - timeout: The longest wait.
    ///   - interval: The pause between two checks.
    ///   - lastState: Describes the state on timeout.
    ///   - condition: Checked until it returns true.
    /// - Throws: ``TimedOut``, or the first error of `condition`.
    public static func until(
        _ what: String,
        timeout: Duration = .seconds(150),
        every interval: Duration = .milliseconds(10),
        lastState: () -> String = { "" },
        isolation: isolated (any Actor)? = #isolation,
        condition: () async throws -> Bool
    ) async throws {
        let clock = ContinuousClock()
        let deadline = clock.now.advanced(by: timeout)
        while true {
            // Check the deadline before the condition: after a suspension of the machine, the condition is checked
            // once more.
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

    /// Waits until `look` returns a value, and returns the value.
    ///
    /// - Throws: ``TimedOut``, or the first error of `look`.
    public static func value<Value>(
        _ what: String,
        timeout: Duration = .seconds(150),
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
