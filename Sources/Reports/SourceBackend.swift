import UploadCore

/// User actions on a source.
package enum SourceWish: String, CaseIterable, Sendable {
    /// Upload a draft, or upload the changes since the last revision.
    case submit
    /// Stop sending and keep the bytes that the server has. The pause survives restarts.
    case pause
    /// End a pause.
    case resume
    /// Give up for good. Delete everything on the server that no other path needs.
    case cancel
    /// Retry now whatever waits or failed.
    case retry
    /// Move to the head of the queue.
    case first
}

/// Result of a user action.
package struct SourceAnswer: Sendable {
    /// The source after the action.
    package var source: SourceReport
    /// Why there was nothing to do, for people: `it is done already`; `nil` if the action was carried out.
    package var refusal: String?

    package init(source: SourceReport, refusal: String? = nil) {
        self.source = source
        self.refusal = refusal
    }
}

/// Access of the control interface to sources.
package protocol SourceBackend: Sendable {
    /// Every source, ordered by directory.
    func sources() async -> [SourceReport]

    /// Returns the source with an id; `nil` if no source has it.
    func source(id: String) async -> SourceReport?

    /// Performs an action on a source. The result is durable on return.
    ///
    /// - Returns: the result; `nil` if no source has this id.
    func perform(_ wish: SourceWish, onSource id: String) async -> SourceAnswer?
}
