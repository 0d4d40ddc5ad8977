import UploadCore

/// What the control interface shows and steers.
protocol ControlBackend: Sendable {
    /// How the agent is.
    func health() async -> AgentHealth

    /// Every path in one of the given states, ordered by path; all of them where nil.
    ///
    /// `status --watch` and `wait` ask several times a second for states that are not final: that should not cost a walk
    /// through all that was ever done.
    func files(in states: Set<FileState>?) async -> [FileReport]

    /// The path with an id; nil when there is none.
    func file(id: String) async -> FileReport?

    /// Every path that holds a content, final or not, ordered by path.
    func files(of key: ContentKey) async -> [FileReport]

    /// Acts on files. What it decided is durable when it returns.
    ///
    /// - Returns: what changed and what did not; nil when nothing bears that id or key.
    func perform(_ action: FileAction, on target: ActionTarget) async -> ActionAnswer?

    /// Removes sidecars and entries of vanished files whose retention is over; confirmations stay.
    func prune() async -> PruneReport

    /// Keeps a token and uses it from now on.
    ///
    /// - Returns: whether the agent begins anew for it, because another account signed in.
    func signIn(token: String, user: String?) async throws(SessionError) -> Bool

    /// Discards what `signIn` kept.
    func signOut() async throws(SessionError)

    /// Everything that is counted.
    func metrics() async -> AgentMetrics

    /// What happens, for `/v1/events`.
    var events: EventHub { get }
}
