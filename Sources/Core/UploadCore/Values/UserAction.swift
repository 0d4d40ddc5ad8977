/// What a user can do about a file or a post.
public enum UserAction: String, CaseIterable, Sendable {
    /// Upload a draft, or upload the changes since the last revision. For posts only.
    case submit
    /// Stop sending, keep the bytes already sent, and stay paused across restarts.
    case pause
    /// Continue after a pause.
    case resume
    /// Give up for good, and delete on the server what no other path needs.
    case cancel
    /// Retry now: an upload waiting for its next attempt, or a failed or cancelled file or post.
    case retry
    /// Move to the head of the queue.
    case first

    /// The actions on files.
    public static let onFiles: [UserAction] = allCases.filter { $0 != .submit }
}
