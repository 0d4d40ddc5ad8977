import UploadCore

/// The life of the profile picture, as a value: it takes in what happens and says what is to be done.
///
/// There is at most one picture that was taken and waits for the server, the *newest*. Pictures that were dropped and are
/// not taken yet are *candidates*: each is made ready on disk, stored, and only then supersedes what was there before. At
/// most one request is under way; the next begins when the one before it has really ended, so that an older picture never
/// reaches the server after a newer one.
///
/// It knows no clock, disk or network. Its actions are carried out in their order, and what `store` leads to is told
/// before anything else.
struct PortraitMachine: Equatable, Sendable {
    /// What happens.
    enum Event: Equatable, Sendable {
        /// The agent begins to work for an account; nil where nobody is signed in.
        case started(account: String?, isAllPaused: Bool)
        /// A picture was dropped.
        case dropped(PortraitDrop, DropOrder)
        /// A candidate is made ready on disk.
        case prepared(UInt64)
        /// A candidate can't become a profile picture.
        case unfit(UInt64, FileState, FileError)
        /// The picture worker did not survive a candidate.
        case killedWorker(UInt64, FileError)
        /// A candidate could not be made ready or stored this time.
        case postponed(UInt64, FileError)
        /// A candidate's file is not the one that was hashed; the watch tells of what it is now.
        case changed(UInt64)
        /// A candidate is durable, and the newest from now on.
        case stored(UInt64)
        /// A request succeeded.
        case uploaded(RequestID, url: String)
        /// A request did not succeed.
        case failed(RequestID, RemoteFailure)
        /// The end of the newest picture is durable.
        case settled
        /// The end of the newest picture could not be made durable.
        case unsettled(FileError)
        /// A file was removed from the outbox, or the user cancelled it.
        case takenBack(RelativePath, ContentKey, FileError)
        /// A file has another name.
        case renamed(RelativePath, RelativePath)
        /// The user holds a file back, or lets it go on.
        case paused(RelativePath, Bool)
        /// The user holds everything back, or lets it go on.
        case allPaused(Bool)
        /// The user does not want to wait for the end of a pause.
        case retried(RelativePath)
        /// There may be new credentials, of the same account or the first.
        case credentialsChanged(account: String?)
        /// The server refused the session, as another request was told.
        case sessionRefused(FileError)
        /// The server takes requests of the session, as another one was told.
        case sessionWorks
        /// The user signed out.
        case signedOut
        /// A network is there that was not before.
        case networkChanged
        /// Time went by.
        case tick
    }

    /// What is to be done.
    enum Action: Equatable, Sendable {
        /// Make a picture ready on disk; ends in `prepared`, `unfit`, `postponed` or `changed`.
        case prepare(UInt64, PortraitDrop)
        /// Remove what was made ready of a candidate that is not wanted any more.
        case scrap(UInt64)
        /// Make a candidate the newest, durably; ends in `stored` or `postponed`.
        case store(PortraitRecord)
        /// Note what changed of the newest. Nothing depends on it.
        case note(PortraitRecord)
        /// Send the picture of the newest; ends in `uploaded` or `failed`.
        case upload(RequestID, UInt64)
        /// Give a request up; it ends in `failed` all the same.
        case cancel(RequestID)
        /// Make the end of the newest durable, and show what is to be shown then; ends in `settled` or `unsettled`.
        case settle(PortraitRecord)
        /// Tell how far a file is.
        case report(PortraitReport)
        /// Tell those who follow the profile picture.
        case announce(PortraitEvent)
    }

    /// Tells requests apart.
    struct RequestID: Hashable, Sendable {
        /// Counted up.
        var number: UInt64
    }

    /// How far the newest picture is.
    enum Phase: Equatable, Sendable {
        /// There is none, or it has reached its end.
        case idle
        /// It is sent as soon as nothing holds it back.
        case ready
        /// It is being sent.
        case sending
        /// A temporary failure; it is sent again when the time has come.
        case waiting(Pause)
        /// Nobody is signed in, or the session is refused; one attempt is made when the time has come.
        case signedOut(Pause)
        /// Its end is known and is being made durable; after a failure of that, again when the time has come.
        case settling(PortraitRecord, retryAt: MonotonicTime?)
    }

    /// A wait, and why.
    struct Pause: Equatable, Sendable {
        /// When it is over.
        var until: MonotonicTime
        /// When that is, for people.
        var shown: WallTime
        /// What it waits for.
        var error: FileError
    }

    struct Candidate: Equatable, Sendable {
        var id: UInt64
        var drop: PortraitDrop
        var account: String?
        /// As `DropOrder.arrived` counts; 0 where it was found.
        var arrival: UInt64
        /// It is ready on disk.
        var isPrepared = false
        /// The picture worker died over it once.
        var hasKilledWorker = false
        var failures = 0
        var pause: Pause?
    }

    struct Request: Equatable, Sendable {
        var id: RequestID
        /// The picture it sends.
        var portrait: UInt64
        /// It was cancelled; the next one waits for its end.
        var isGivenUp = false
        /// New credentials came since it began.
        var hasOldCredentials = false
    }

    var newest: PortraitRecord?
    var phase = Phase.idle
    /// From the oldest to the newest.
    var candidates: [Candidate] = []
    /// Up to which of the pictures that arrived all are taken or superseded.
    var latestArrival: UInt64 = 0
    /// The candidate that is being made ready.
    var preparing: UInt64?
    var request: Request?
    var isAllPaused = false
    var account: String?
    /// Why the server does not want to hear of this session.
    var refusal: FileError?
    var actions: [Action] = []

    private var backoff: Backoff
    private var failures = 0
    private var lastID: UInt64
    private var lastRequest: UInt64 = 0

    /// The longest pause between two attempts, whatever `upload.retry_interval` says.
    static let longestPause = Duration.seconds(120)

    /// A life that goes on where a record left it; `started` sets it in motion.
    ///
    /// - Parameters:
    ///   - record: what was kept of the newest picture.
    ///   - lastID: the largest number that was ever given to a picture.
    ///   - retryInterval: `upload.retry_interval`.
    ///   - seed: of the pauses' jitter.
    init(restoring record: PortraitRecord?, lastID: UInt64, retryInterval: Duration, seed: UInt64) {
        newest = record
        self.lastID = max(lastID, record?.id ?? 0)
        backoff = Backoff(ceiling: min(retryInterval, Self.longestPause), seed: seed)
    }

    /// Takes over another `upload.retry_interval`.
    mutating func setRetryInterval(_ interval: Duration) {
        backoff.ceiling = min(interval, Self.longestPause)
    }

    /// Takes an event in.
    ///
    /// - Returns: what is to be done, in this order.
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
        // What is about to be superseded is not sent any more.
        if !storeNext() { sendNext(now: now) }
        announceChange(since: before)
        defer { actions = [] }
        return actions
    }

    /// When `tick` is to come next; nil where nothing waits for a time.
    var nextDeadline: MonotonicTime? {
        let own: MonotonicTime? =
            switch phase {
            case .waiting(let pause), .signedOut(let pause): isHeld ? nil : pause.until
            case .settling(_, let retryAt): retryAt
            case .idle, .ready, .sending: nil
            }
        return ([own] + candidates.map(\.pause?.until)).compactMap(\.self).min()
    }

    /// Whether the newest picture is held back by the user.
    var isHeld: Bool { isAllPaused || newest?.drop.isPaused == true }

    // MARK: Small parts

    mutating func nextID() -> UInt64 {
        lastID += 1
        return lastID
    }

    mutating func nextRequest() -> RequestID {
        lastRequest += 1
        return RequestID(number: lastRequest)
    }

    /// A pause after so many failures in a row, or as long as the server asked for.
    mutating func makePause(after failures: Int, _ error: FileError, asked: Duration? = nil, now: Now) -> Pause {
        makePause(of: asked ?? backoff.pause(afterFailures: failures), error, now: now)
    }

    /// The longest pause.
    mutating func makeLongPause(_ error: FileError, now: Now) -> Pause {
        makePause(of: backoff.ceiling, error, now: now)
    }

    private func makePause(of duration: Duration, _ error: FileError, now: Now) -> Pause {
        Pause(until: now.monotonic + duration, shown: now.wall.advanced(by: duration), error: error)
    }

    /// One more failure in a row of sending.
    mutating func countFailure() -> Int {
        failures += 1
        return failures
    }

    /// The pauses begin anew.
    mutating func forgetFailures() { failures = 0 }
}
