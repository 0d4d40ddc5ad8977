package import UploadCore

/// The life of the profile picture, as a state machine and a value: events in, actions out.
///
/// At most one picture is stored and waits for the server: the *newest*. Dropped pictures that are not stored yet are
/// *candidates*. Each candidate is prepared on disk, then stored, and only then supersedes the previous newest
/// picture. At most one request is in progress. The next request begins after the previous one has really ended, so an
/// older picture never reaches the server after a newer one.
///
/// The machine knows no clock, disk or network. The caller performs the actions in order, and reports the result of
/// `store` before any other event.
package struct PortraitMachine: Equatable, Sendable {
    /// Input of the machine.
    package enum Event: Equatable, Sendable {
        /// The agent starts for an account; nil if nobody is signed in.
        case started(account: String?, isAllPaused: Bool)
        /// A picture was dropped.
        case dropped(PortraitDrop, DropOrder)
        /// A candidate was prepared on disk.
        case prepared(UInt64)
        /// A candidate can't become a profile picture.
        case unfit(UInt64, FileState, FileError)
        /// The picture worker died while it drew a candidate.
        case killedWorker(UInt64, FileError)
        /// A candidate could not be prepared or stored this time.
        case postponed(UInt64, FileError)
        /// A candidate's file changed after it was hashed. The watch reports the new content.
        case changed(UInt64)
        /// A candidate is durable, and now the newest picture.
        case stored(UInt64)
        /// A request succeeded.
        case uploaded(RequestID, url: String)
        /// A request failed.
        case failed(RequestID, RemoteFailure)
        /// The newest picture's final state is durable.
        case settled
        /// The newest picture's final state could not be made durable.
        case unsettled(FileError)
        /// A file was removed from the outbox, or the user cancelled it.
        case takenBack(RelativePath, ContentKey, FileError)
        /// A file was renamed.
        case renamed(RelativePath, RelativePath)
        /// The user paused or resumed a file.
        case paused(RelativePath, Bool)
        /// The user paused or resumed everything.
        case allPaused(Bool)
        /// The user asked for a retry before the pause ends.
        case retried(RelativePath)
        /// The credentials may have changed: same account, or the first account.
        case credentialsChanged(account: String?)
        /// Another request learned that the server refuses the session.
        case sessionRefused(FileError)
        /// Another request learned that the server accepts the session.
        case sessionWorks
        /// The user signed out.
        case signedOut
        /// A network became available.
        case networkChanged
        /// Time passed.
        case tick
    }

    /// Output of the machine.
    package enum Action: Equatable, Sendable {
        /// Prepare a picture on disk; ends in `prepared`, `unfit`, `killedWorker`, `postponed` or `changed`.
        case prepare(UInt64, PortraitDrop)
        /// Remove the prepared files of an unwanted candidate.
        case scrap(UInt64)
        /// Make a candidate the newest picture, durably; ends in `stored` or `postponed`.
        case store(PortraitRecord)
        /// Store changed details of the newest picture. Nothing depends on their durability.
        case note(PortraitRecord)
        /// Send the newest picture; ends in `uploaded` or `failed`.
        case upload(RequestID, UInt64)
        /// Cancel a request, which still ends in `uploaded` or `failed`.
        case cancel(RequestID)
        /// Make the newest picture's final state durable and update the picture shown; ends in `settled` or
        /// `unsettled`.
        case settle(PortraitRecord)
        /// Report a file's progress.
        case report(PortraitReport)
        /// Notify the subscribers of the profile picture.
        case announce(PortraitEvent)
    }

    /// Identifies a request.
    package struct RequestID: Hashable, Sendable {
        /// Counts up.
        var number: UInt64
    }

    /// Progress of the newest picture.
    enum Phase: Equatable, Sendable {
        /// No newest picture exists, or its fate is final.
        case idle
        /// Ready to send as soon as nothing holds the picture back.
        case ready
        /// A request is in progress.
        case sending
        /// A temporary failure happened; the retry comes after the pause.
        case waiting(Pause)
        /// Nobody is signed in, or the server refuses the session; one attempt follows after the pause.
        case signedOut(Pause)
        /// The fate is decided and being made durable. After a failure, the next attempt is due at `retryAt`.
        case settling(PortraitRecord, retryAt: MonotonicTime?)
    }

    /// A pause and its reason.
    struct Pause: Equatable, Sendable {
        /// End of the pause.
        var until: MonotonicTime
        /// End of the pause as wall time, for display.
        var shown: WallTime
        /// The reason for the pause.
        var error: FileError
    }

    struct Candidate: Equatable, Sendable {
        var id: UInt64
        var drop: PortraitDrop
        var account: String?
        /// Number of `DropOrder.arrived`; 0 for `found`.
        var arrival: UInt64
        /// Whether the candidate is prepared on disk.
        var isPrepared = false
        /// Whether the picture worker died once while it drew this candidate.
        var hasKilledWorker = false
        var failures = 0
        var pause: Pause?
    }

    struct Request: Equatable, Sendable {
        var id: RequestID
        /// The picture being sent.
        var portrait: UInt64
        /// Whether the request was cancelled. The next request waits for its end.
        var isGivenUp = false
        /// Whether new credentials came after the request began.
        var hasOldCredentials = false
    }

    var newest: PortraitRecord?
    var phase = Phase.idle
    /// From the oldest to the newest.
    var candidates: [Candidate] = []
    /// Arrived pictures up to this number are all stored or superseded.
    var latestArrival: UInt64 = 0
    /// The candidate being prepared.
    var preparing: UInt64?
    var request: Request?
    var isAllPaused = false
    var account: String?
    /// Why the server refuses this session.
    var refusal: FileError?
    var actions: [Action] = []

    private var backoff: Backoff
    private var failures = 0
    private var lastID: UInt64
    private var lastRequest: UInt64 = 0

    /// The longest pause between two attempts, even if `upload.retry_interval` is longer.
    static let longestPause = Duration.seconds(120)

    /// Restores a machine from a stored record. The event `started` sets it in motion.
    ///
    /// - Parameters:
    ///   - record: The stored record of the newest picture.
    ///   - lastID: The largest number ever given to a picture.
    ///   - retryInterval: `upload.retry_interval`.
    ///   - seed: Seed of the pauses' jitter.
    init(restoring record: PortraitRecord?, lastID: UInt64, retryInterval: Duration, seed: UInt64) {
        newest = record
        self.lastID = max(lastID, record?.id ?? 0)
        backoff = Backoff(ceiling: min(retryInterval, Self.longestPause), seed: seed)
    }

    /// Applies a changed `upload.retry_interval`.
    mutating func setRetryInterval(_ interval: Duration) {
        backoff.ceiling = min(interval, Self.longestPause)
    }

    /// Handles an event.
    ///
    /// - Returns: Actions to perform, in this order.
    mutating func handle(_ event: Event, now: Now) -> [Action] {
        let before = pending
        switch event {
        case .started(let account, let isAllPaused): start(account, isAllPaused, now: now)
        case .dropped(let drop, let order): dropped(drop, order, now: now)
        case .prepared(let id): prepared(id)
        case .unfit(let id, let state, let error): unfit(id, state, error, now: now)
        case .killedWorker(let id, let error): killedWorker(id, error, now: now)
        case .postponed(let id, let error): postponed(id, error, now: now)
        case .changed(let id): changed(id)
        case .stored(let id): stored(id, now: now)
        case .uploaded(let id, let url): uploaded(id, url: url, now: now)
        case .failed(let id, let failure): failed(id, failure, now: now)
        case .settled: settled()
        case .unsettled(let error): unsettled(error, now: now)
        case .takenBack(let path, let key, let error): takenBack(path, key, error, now: now)
        case .renamed(let old, let new): renamed(old, to: new)
        case .paused(let path, let isPaused): pause(path, isPaused)
        case .allPaused(let isPaused): pauseAll(isPaused)
        case .retried(let path): retry(path)
        case .credentialsChanged(let account): credentialsChanged(account)
        case .sessionRefused(let error): sessionRefused(error, now: now)
        case .sessionWorks: sessionWorks()
        case .signedOut: signedOut(now: now)
        case .networkChanged: hurry()
        case .tick: tick(now.monotonic)
        }
        prepareNext()
        // A picture about to be superseded is not sent.
        if !storeNext() { sendNext(now: now) }
        announceChange(since: before)
        defer { actions = [] }
        return actions
    }

    /// When `tick` is due next; nil if no deadline is set.
    var nextDeadline: MonotonicTime? {
        let own: MonotonicTime? =
            switch phase {
            case .waiting(let pause), .signedOut(let pause): isHeld ? nil : pause.until
            case .settling(_, let retryAt): retryAt
            case .idle, .ready, .sending: nil
            }
        return ([own] + candidates.map(\.pause?.until)).compactMap(\.self).min()
    }

    /// Whether the user holds the newest picture back.
    var isHeld: Bool { isAllPaused || newest?.drop.isPaused == true }

    // MARK: Helpers

    mutating func nextID() -> UInt64 {
        lastID += 1
        return lastID
    }

    mutating func nextRequest() -> RequestID {
        lastRequest += 1
        return RequestID(number: lastRequest)
    }

    /// A pause after `failures` failures in a row, or of the length the server asked for.
    mutating func makePause(after failures: Int, _ error: FileError, asked: Duration? = nil, now: Now) -> Pause {
        makePause(of: asked ?? backoff.pause(afterFailures: failures), error, now: now)
    }

    /// A pause of the maximum length.
    mutating func makeLongPause(_ error: FileError, now: Now) -> Pause {
        makePause(of: backoff.ceiling, error, now: now)
    }

    private func makePause(of duration: Duration, _ error: FileError, now: Now) -> Pause {
        Pause(until: now.monotonic + duration, shown: now.wall.advanced(by: duration), error: error)
    }

    /// Counts one more failure in a row of sending.
    mutating func countFailure() -> Int {
        failures += 1
        return failures
    }

    /// Resets the backoff.
    mutating func forgetFailures() { failures = 0 }
}
