import UploadCore

/// What a user can do about a source.
public enum SourceWish: String, CaseIterable, Sendable {
    /// Upload a draft, or what changed since the source was taken.
    case submit
    /// Stop sending, keep what was sent, and stay so over restarts.
    case pause
    /// Go on after a pause.
    case resume
    /// Give up for good, and delete what the server has of it and no other path needs.
    case cancel
    /// Try again now: what waits, what failed.
    case retry
    /// Go to the head of the queue.
    case first
}

/// What became of a wish.
struct SourceAnswer: Sendable {
    /// The source as it is now.
    var source: SourceReport
    /// Why nothing was to be done, for people: `it is done already`; nil where something was.
    var refusal: String?
}

/// What the control interface shows and steers of sources.
protocol SourceBackend: Sendable {
    /// Every source, ordered by directory.
    func sources() async -> [SourceReport]

    /// The source with an id; nil when there is none.
    func source(id: String) async -> SourceReport?

    /// Does what is wanted of a source. What it decided is durable when it returns.
    ///
    /// - Returns: what became of it; nil when nothing bears that id.
    func perform(_ wish: SourceWish, onSource id: String) async -> SourceAnswer?
}
