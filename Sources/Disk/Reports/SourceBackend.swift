package import UploadCore

/// Access of the control interface to sources.
package protocol SourceBackend: Sendable {
    /// Every source, ordered by directory.
    func sources() async -> [SourceReport]

    /// Returns the source with an id; `nil` if no source has it.
    func source(id: String) async -> SourceReport?

    /// Performs an action on a source. The result is durable on return.
    ///
    /// - Returns: the outcome; `nil` if no source has this id.
    func perform(_ action: UserAction, onSource id: String) async -> ActionOutcome<SourceReport>?
}
