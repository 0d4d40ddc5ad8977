/// What the agent says became of an action.
public struct ActionOutcome: Codable, Equatable, Sendable {
    /// A path that is as it was.
    public struct Unchanged: Codable, Equatable, Sendable {
        /// The path's entry.
        public var file: FileEntry
        /// Why nothing was done to it, for people.
        public var reason: String
    }

    /// Paths that are in another state or place now.
    public var changed: [FileEntry]
    /// Paths that the action was about and did nothing to.
    public var unchanged: [Unchanged]
}
