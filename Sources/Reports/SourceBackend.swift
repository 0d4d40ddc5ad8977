package import UploadCore

/// An action on a source.
package typealias SourceWish = UserAction

/// The outcome of an action on a source.
package typealias SourceAnswer = ActionOutcome<SourceReport>

extension ActionOutcome<SourceReport> {
    package init(source: SourceReport, refusal: String? = nil) {
        self.init(source, refusal: refusal)
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
    /// - Returns: the outcome; `nil` if no source has this id.
    func perform(_ wish: SourceWish, onSource id: String) async -> SourceAnswer?
}
