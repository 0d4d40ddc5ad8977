import Reports
import UploadCore

/// The result of `wait`, as `--json` prints it. Paths are relative to the outbox.
package struct WaitReport: Encodable, Equatable, Sendable {
    /// Files whose content the server confirmed.
    package let done: [String]
    /// Files with another outcome, or that vanished before the agent saw them.
    package let failed: [String]
    /// Files in progress when the time ran out.
    package let pending: [String]

    /// Sums up a wait.
    ///
    /// - Parameters:
    ///   - course: The wait after its last poll.
    ///   - isOver: False if the time ran out. Files unknown to the agent then count as pending.
    package init(_ course: WaitCourse, isOver: Bool) {
        let unknown = course.unknown.map(\.description)
        done = course.known.filter(\.isDone).map(\.path)
        failed = course.known.filter { $0.isFinal && !$0.isDone }.map(\.path) + (isOver ? unknown : [])
        pending = course.known.filter { !$0.isFinal }.map(\.path) + (isOver ? [] : unknown)
    }
}
