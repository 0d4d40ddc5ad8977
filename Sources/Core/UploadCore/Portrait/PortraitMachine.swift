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
        /// Another request learned that the server is in trouble or refuses the session, or works again (nil).
        case serverTrouble(FileError?)
        /// The user signed out.
        case signedOut
        /// A network became available.
        case networkChanged
        /// A reload changed `upload.retry_interval`.
        case setRetryInterval(Duration)
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
        /// Send the newest picture, whose number is given; ends in `uploaded` or `failed`.
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

    /// Progress of the newest picture. The errand to send it holds the request and the pauses.
    enum Phase: Equatable, Sendable {
        /// No newest picture exists, or its fate is final.
        case idle
        /// The picture is sent as soon as nothing holds it back.
        case pending
        /// Nobody is signed in, or the server refuses the session; one attempt follows after the pause.
        case signedOut
        /// The fate is decided and being made durable. After a failure, the next attempt follows after the pause.
        case settling(PortraitRecord)
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
        /// The attempts to prepare and store the candidate. They need no request.
        var work = Errand()
    }

    /// The newest picture.
    package internal(set) var newest: PortraitRecord?
    var phase = Phase.idle
    /// The attempts to send the newest picture, then to make its fate durable. A request that was given up may still
    /// carry the picture before.
    var errand = Errand()
    /// From the oldest to the newest.
    var candidates: [Candidate] = []
    /// Arrived pictures up to this number are all stored or superseded.
    var latestArrival: UInt64 = 0
    /// The candidate being prepared.
    var preparing: UInt64?
    var isAllPaused = false
    var account: String?
    /// Why the server refuses this session.
    var refusal: FileError?
    let isSupported: Bool
    var backoff: Backoff
    var lastRequest: RequestID = 0
    /// The last request sent with older credentials.
    var lastWithOldCredentials: RequestID = 0
    var actions: [Action] = []
    private var lastID: UInt64

    /// The longest pause between two attempts, even if `upload.retry_interval` is longer.
    private static let longestPause = Duration.seconds(120)

    /// Restores a machine from a stored record. The event `started` sets it in motion.
    ///
    /// - Parameters:
    ///   - record: The stored record of the newest picture.
    ///   - lastID: The largest number ever given to a picture.
    ///   - isSupported: Whether the protocol has profile pictures.
    ///   - retryInterval: `upload.retry_interval`.
    ///   - seed: Seed of the pauses' jitter.
    package init(
        restoring record: PortraitRecord?, lastID: UInt64, isSupported: Bool = true, retryInterval: Duration,
        seed: UInt64
    ) {
        newest = record
        self.lastID = max(lastID, record?.id ?? 0)
        self.isSupported = isSupported
        backoff = Backoff(ceiling: min(retryInterval, Self.longestPause), seed: seed)
    }

    /// Handles an event.
    ///
    /// - Returns: Actions to perform, in this order.
    package mutating func handle(_ event: Event, now: Now) -> [Action] {
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
        case .serverTrouble(let error): serverTrouble(error, now: now)
        case .signedOut: signedOut(now: now)
        case .networkChanged: if phase != .signedOut { hurry() }
        case .setRetryInterval(let interval): backoff.ceiling = min(interval, Self.longestPause)
        case .tick: tick(now: now)
        }
        prepareNext()
        // A picture about to be superseded is not sent.
        if !storeNext() { sendNext(now: now) }
        announceChange(since: before)
        defer { actions = [] }
        return actions
    }

    /// When `tick` is due next; nil if no deadline is set.
    package var nextDeadline: MonotonicTime? {
        let own = isPending && isHeld ? nil : errand.pause
        return ([own] + candidates.map(\.work.pause)).compactMap { $0?.until }.min()
    }

    /// Whether the user holds the newest picture back.
    var isHeld: Bool { isAllPaused || newest?.drop.isPaused == true }

    /// Whether a newest picture exists whose fate is still undecided.
    var isPending: Bool { phase == .pending || phase == .signedOut }

    mutating func nextID() -> UInt64 {
        lastID += 1
        return lastID
    }
}
