import UploadCore

/// What `wait` found, as its `--json` prints it. Paths are relative to the outbox.
public struct WaitReport: Encodable, Equatable, Sendable {
    /// Files whose content the server confirmed.
    public let done: [String]
    /// Files that ended otherwise, or vanished before the agent saw them.
    public let failed: [String]
    /// Files that were under way when the time was over.
    public let pending: [String]

    /// Sums a wait up.
    ///
    /// - Parameters:
    ///   - course: the wait, after its last look.
    ///   - isOver: false when the time was over first; files the agent does not know are under way then.
    public init(_ course: WaitCourse, isOver: Bool) {
        let unknown = course.unknown.map(\.description)
        done = course.known.filter(\.isDone).map(\.path)
        failed = course.known.filter { $0.isFinal && !$0.isDone }.map(\.path) + (isOver ? unknown : [])
        pending = course.known.filter { !$0.isFinal }.map(\.path) + (isOver ? [] : unknown)
    }
}
