/// The agent's answer to an action.
public struct ActionOutcome: Codable, Equatable, Sendable {
    /// A path that the action did not change.
    public struct Unchanged: Codable, Equatable, Sendable {
        /// The path's entry.
        public var file: FileEntry
        /// The reason, for people.
        public var reason: String
    }

    /// Paths whose state or place changed.
    public var changed: [FileEntry]
    /// Paths of the target that the action did not change.
    public var unchanged: [Unchanged]
}
