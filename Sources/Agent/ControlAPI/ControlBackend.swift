package import Ledger
package import Reports
package import Session
package import UploadCore

/// Some outcomes of the journal, in order.
package struct OutcomePage: Sendable {
    package var events: [EventHub.Event]
    /// The number of the last row looked at.
    package var last: UInt64

    package init(events: [EventHub.Event] = [], last: UInt64) { (self.events, self.last) = (events, last) }
}

/// The operations of the control interface on files and sessions.
package protocol ControlBackend: Sendable {
    /// Returns the agent's health.
    func health() async -> AgentHealth

    /// Returns the paths that a client asks for, sorted by path. With a limit, the answer counts all paths.
    ///
    /// `status --watch` and `wait` ask for unfinished states several times a second. Such a query should not walk
    /// through all finished paths.
    func files(_ query: ListQuery<FileState>) async -> Listing<FileReport>

    /// Returns a page of all files. Its memory does not grow with their number.
    func page(_ query: PageQuery) async -> FilePage

    /// Returns the thumbnail of a content as JPEG; `nil` if there is none.
    func thumbnail(of key: ContentKey) async -> [UInt8]?

    /// Returns what was sent during the last hour.
    func transfers() async -> TransferHistory

    /// Returns the outcomes that a query wants, the latest first.
    func outcomes(_ query: JournalQuery) async -> Journal

    /// Returns sums of the journal.
    func sums() async -> HistorySums

    /// Returns the next outcomes of the journal as events; `nil` if some of those after this number are gone.
    func outcomes(after number: UInt64) async -> OutcomePage?

    /// Returns what the hooks do now, in the order of the configuration.
    func hooks() async -> [HookStatus]

    /// Sends a made-up outcome to a hook; `nil` if there is none of this name.
    func testHook(_ name: String) async -> HookTest?

    /// Gives up what waits for a hook.
    ///
    /// - Returns: whether there is a hook of this name.
    func skipHook(_ name: String) async -> Bool

    /// Returns the settings in force as JSON, without secrets.
    func settings() async -> [UInt8]

    /// Returns the path with an id; `nil` if there is none.
    func file(id: String) async -> FileReport?

    /// Returns every path that holds a content, final or not, sorted by path.
    func files(of key: ContentKey) async -> [FileReport]

    /// Performs an action on files. The result is durable on return.
    ///
    /// - Returns: the outcome for each path, sorted by path; `nil` if no file has this id or key.
    func perform(_ action: UserAction, on target: ActionTarget) async -> [ActionOutcome<FileReport>]?

    /// Performs an action on everything, or on the files below a directory that belong to no post. What the answer says is
    /// durable.
    ///
    /// Pausing and resuming everything survive restarts and apply to new files. Cancelling affects all unfinished and
    /// failed paths, retrying affects failed and waiting paths; below a directory also cancelled and rejected ones.
    ///
    /// - Returns: the outcomes, only of paths that should have changed.
    func performOnAll(_ action: UserAction, below directory: RelativePath?) async -> ActionAnswer<FileReport>

    /// Removes sidecars and entries of vanished files after their retention. Confirmations stay.
    func prune() async -> PruneReport

    /// Stores a token and uses it from now on.
    ///
    /// - Returns: whether the agent restarts, because another account signed in.
    func signIn(token: String, user: String?) async throws(SessionError) -> Bool

    /// Discards the session that `signIn` stored.
    func signOut() async throws(SessionError)

    /// Returns all counters.
    func metrics() async -> AgentMetrics

    /// The events for `/v1/events`.
    var events: EventHub { get }
}
