import Text
import ControlAPI
import FileWatch
import Ledger
import Reports
import Session
import SystemdService
import UploadCore

/// What the agent says about itself: problems, counters, health, metrics and the status line.
///
/// A value without I/O, except that a changed problem becomes an event. The uploader reports what happened, and passes
/// in the figures that other components own. Nothing follows from the answers.
struct AgentStatus: Sendable {
    /// A condition that needs a person's attention. The raw values are codes in events and metrics.
    enum Problem: String, CaseIterable, Sendable {
        case afterUpload = "after_upload"
        case control
        case dashboard
        case formerOutbox = "former_outbox"
        case hooks
        case ledger
        case ledgerLost = "ledger_lost"
        case outbox
        case products
        case refused
        case secondAgent = "second_agent"
        case server
        case session
        case sidecars
        case storage
        case watch
    }

    /// Figures that other components own, at one moment.
    struct Figures: Sendable {
        /// Number of paths by state.
        var files: [FileState: Int] = [:]
        /// Number of paths that are not in a final state.
        var active = 0
        var uploads = 0
        var requestsInFlight = 0
        var hashQueue = 0
        var bytesPerSecond: UInt64 = 0
        /// Bytes of unfinished files that the server has not acknowledged, and the number of these files.
        var left: (bytes: UInt64, files: Int) = (0, 0)
        var isPaused = false
        /// Whether the first full scan has ended.
        var hasScanned = false
        var token: TokenOrigin?
        var account = ""
        var watch = WatchCounters()
        var ledger: LedgerStatistics?

        /// Adds the paths that nothing is under way for, by state. Those in no final state wait for uploads in the
        /// backlog.
        mutating func add(resting: [FileState: Int]) {
            files.merge(resting) { $0 + $1 }
            let waiting = resting.reduce(0) { $0 + ($1.key.isFinal ? 0 : $1.value) }
            active += waiting
            uploads += waiting
            // The sizes of files in the backlog are not in memory. They count like those that are.
            if left.files > 0 { left.bytes += left.bytes / UInt64(left.files) * UInt64(max(0, waiting)) }
        }
    }

    /// How long `status` and `doctor` report that the ledger was replaced.
    private static let noticeTime = Duration.seconds(24 * 3600)

    let version: String
    let processID: Int32
    let startedAt: MonotonicTime
    private let events: EventHub

    /// The message of each present problem.
    var problems: [Problem: String] = [:] {
        didSet {
            for problem in Problem.allCases where problems[problem] != oldValue[problem] {
                events.publish(problem: problem.rawValue, problems[problem])
                if oldValue[problem] == nil { problemsBegan[problem] = events.now.wall }
            }
        }
    }
    /// When each problem began.
    private var problemsBegan: [Problem: WallTime] = [:]
    /// What was sent during the last hour.
    var recent = RecentTransfers()
    var counters = UploadCounters()
    /// Whether the watch defers new files, because too many others are being hashed.
    var isDeferring = false

    init(version: String, processID: Int32, startedAt: MonotonicTime, events: EventHub) {
        self.version = version
        self.processID = processID
        self.startedAt = startedAt
        self.events = events
    }

    /// The messages of all problems, in the order of their codes.
    var messages: [String] { problems.sorted { $0.key.rawValue < $1.key.rawValue }.map(\.value) }

    private func uptime(at now: MonotonicTime) -> Duration { now - startedAt }

    // MARK: Recording

    /// Stops reporting a replaced ledger after a day.
    mutating func forgetNotice(at now: MonotonicTime) {
        if uptime(at: now) > Self.noticeTime { problems[.ledgerLost] = nil }
    }

    /// Records that changes can't be made durable, or can be again (`nil`).
    mutating func recordLedgerTrouble(_ message: String?) {
        problems[.ledger] = message
        if message != nil { counters.commitTroubles += 1 }
    }

    // MARK: Answers

    /// Returns the answer of `GET /v1/health`. It lists only the counts of final states.
    ///
    /// - Parameter obstacle: why this is not the present state; `nil` if it is.
    func health(_ figures: Figures, at now: MonotonicTime, obstacle: String? = nil) -> AgentHealth {
        let files = figures.files.filter(\.key.isFinal).map { ($0.key.rawValue, $0.value) }
        return AgentHealth(
            pid: processID, version: version, uptime: UInt64(max(0, uptime(at: now).components.seconds)),
            paused: figures.isPaused,
            scanned: figures.hasScanned && !isDeferring && figures.watch.unanswered == 0, active: figures.active,
            problems: messages + (obstacle.map { [$0] } ?? []), files: Dictionary(uniqueKeysWithValues: files),
            token: figures.token?.rawValue,
            account: figures.account, deferred: figures.watch.deferred, saved: counters.products?.bytesSaved,
            attention: attention
                + (obstacle.map {
                    [Attention(code: "no_progress", message: $0, since: Timestamp.text(events.now.wall))]
                }
                    ?? []),
            speed: figures.bytesPerSecond, left: figures.left.bytes)
    }

    /// The problems in the order of their codes.
    private var attention: [Attention] {
        problems.sorted { $0.key.rawValue < $1.key.rawValue }.map { problem, message in
            let began = problemsBegan[problem] ?? events.now.wall
            return Attention(code: problem.rawValue, message: message, since: Timestamp.text(began))
        }
    }

    /// Returns the counters of `GET /metrics`.
    func metrics(_ figures: Figures, at now: MonotonicTime) -> AgentMetrics {
        var metrics = AgentMetrics()
        metrics.files = figures.files
        metrics.uploads = figures.uploads
        metrics.requestsInFlight = figures.requestsInFlight
        metrics.fragmentsInFlight = counters.fragmentsInFlight
        metrics.bytesAcknowledged = counters.bytesAcknowledged
        metrics.fragmentsSent = counters.fragmentsSent
        metrics.fragmentsAcknowledged = counters.fragmentsAcknowledged
        metrics.fragmentsFailed = counters.fragmentsFailed
        metrics.retries = counters.retries
        metrics.uploadsDone = counters.uploadsDone
        metrics.uploadsFailed = counters.uploadsFailed
        metrics.bytesHashed = counters.bytesHashed
        metrics.hashQueue = figures.hashQueue
        metrics.productsMade = counters.products?.made
        metrics.productSeconds = (counters.products?.spent ?? .zero) / .seconds(1)
        metrics.productBytesSaved = counters.products?.bytesSaved ?? 0
        metrics.ledgerCommitTroubles = counters.commitTroubles
        metrics.watches = figures.watch.watches
        metrics.polledDirectories = figures.watch.polled.values.reduce(0, +)
        metrics.eventOverflows = figures.watch.overflows
        metrics.scans = figures.watch.fullScans
        metrics.lastScan = figures.watch.lastScan?.duration
        if let ledger = figures.ledger {
            metrics.ledgerBytes = UInt64(ledger.fileSize)
            metrics.ledgerEntries = ledger.entries[.drops] ?? 0
        }
        metrics.problems = Set(problems.keys.map(\.rawValue))
        metrics.isPaused = figures.isPaused
        metrics.uptime = uptime(at: now)
        metrics.version = version
        return metrics
    }

    /// Returns the agent's state in one line.
    func line(_ figures: Figures) -> String {
        StatusLine(
            counts: figures.files, bytesPerSecond: figures.bytesPerSecond, isPaused: figures.isPaused,
            problems: messages
        ).text
    }
}
