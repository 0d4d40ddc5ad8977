/// What a hook does now, for people and metrics.
package struct HookStatus: Codable, Equatable, Sendable {
    /// The hook's name.
    package var name: String
    /// Outcomes delivered by this run.
    package var delivered = 0
    /// Outcomes that wait, at most: of rows not looked at, the hook may want only some.
    package var waiting = 0
    /// Outcomes that this run gave up.
    package var givenUp = 0
    /// Failed calls of this run.
    package var failures = 0
    /// Why the last call failed; nil if it did not.
    package var error: String?
    /// When the next attempt is due; nil if none waits.
    package var nextAttemptAt: String?

    package init(name: String) { self.name = name }

    private enum CodingKeys: String, CodingKey {
        case name, delivered, waiting, failures, error
        case givenUp = "given_up"
        case nextAttemptAt = "next_attempt_at"
    }
}

/// What came of a made-up outcome sent to a hook.
package struct HookTest: Codable, Equatable, Sendable {
    /// Whether the hook took it.
    package var delivered: Bool
    /// What came back.
    package var answer: String

    package init(delivered: Bool, answer: String) { (self.delivered, self.answer) = (delivered, answer) }
}
