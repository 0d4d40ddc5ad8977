/// The agent's answer to an action.
package struct ActionOutcome: Codable, Equatable, Sendable {
    /// A path that the action did not change.
    package struct Unchanged: Codable, Equatable, Sendable {
        /// The path's entry.
        package var file: FileEntry
        /// The reason, for people.
        package var reason: String

        package init(file: FileEntry, reason: String) {
            self.file = file
            self.reason = reason
        }
    }

    /// Paths whose state or place changed.
    package var changed: [FileEntry]
    /// Paths of the target that the action did not change.
    package var unchanged: [Unchanged]
}
