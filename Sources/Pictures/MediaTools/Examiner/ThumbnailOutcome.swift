/// The result of making a thumbnail.
public enum ThumbnailOutcome: Equatable, Sendable {
    /// The thumbnail exists.
    case there
    /// This content can't have a thumbnail; the reason for display.
    case none(String)
    /// No thumbnail now; a later attempt may succeed. The reason for display.
    case notNow(String)
}
