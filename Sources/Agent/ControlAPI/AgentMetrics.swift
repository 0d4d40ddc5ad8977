package import Reports
package import UploadCore

/// All counters and measurements for `GET /metrics` (docs/http.md).
///
/// Counters start at 0 with the process and only grow. Times are in seconds, sizes in bytes.
package struct AgentMetrics: Equatable, Sendable {
    /// Number of paths by state. States without paths are 0 or missing.
    package var files: [FileState: Int] = [:]
    /// Contents that are neither confirmed nor given up.
    package var uploads = 0
    /// Requests to the server in progress, of any kind.
    package var requestsInFlight = 0
    /// Fragments being sent.
    package var fragmentsInFlight = 0

    /// Bytes of fragments that the server acknowledged (counter).
    package var bytesAcknowledged: UInt64 = 0
    /// Fragments that began to be sent, including repetitions (counter).
    package var fragmentsSent: UInt64 = 0
    /// Fragments that the server acknowledged (counter).
    package var fragmentsAcknowledged: UInt64 = 0
    /// Fragments that could not be sent, by class of failure: the case name of `RemoteFailure` in snake_case
    /// (counter).
    package var fragmentsFailed: [String: UInt64] = [:]
    /// Fragments that failed temporarily and are sent again (counter).
    package var retries: UInt64 = 0
    /// Paths whose content the server confirmed (counter).
    package var uploadsDone: UInt64 = 0
    /// Paths that failed for good (counter).
    package var uploadsFailed: UInt64 = 0

    /// Bytes read for hashing (counter).
    package var bytesHashed: UInt64 = 0
    /// Products made (counter); nil if no file is processed before its upload.
    package var productsMade: UInt64?
    /// Seconds spent on processing files (counter).
    package var productSeconds = 0.0
    /// How many bytes less the products have than their files (counter).
    package var productBytesSaved: UInt64 = 0
    /// Files that are being hashed or wait for it.
    package var hashQueue = 0

    /// Size of the ledger's file.
    package var ledgerBytes: UInt64 = 0
    /// Number of paths in the ledger.
    package var ledgerEntries = 0
    /// How often changes could not be made durable at once: full disk, I/O error (counter).
    package var ledgerCommitTroubles: UInt64 = 0

    /// Directories watched by the kernel.
    package var watches = 0
    /// Polled directories, which the kernel can't watch.
    package var polledDirectories = 0
    /// How often the kernel dropped events because its queue was full (counter).
    package var eventOverflows: UInt64 = 0
    /// Completed full scans (counter).
    package var scans: UInt64 = 0
    /// Duration of the last full scan; `nil` before the first one ends.
    package var lastScan: Duration?

    /// The mirror of the server's pictures; `nil` without a mirror.
    var avatars: AvatarFigures?

    /// What the hooks do.
    package var hooks: [HookStatus] = []

    /// Problems that need a person's attention, by code.
    package var problems: Set<String> = []
    /// Whether everything is paused.
    package var isPaused = false
    /// How long the agent has been running.
    package var uptime = Duration.zero
    /// The program's version.
    package var version = ""

    package init(
        files: [FileState: Int] = [:], uploads: Int = 0, requestsInFlight: Int = 0, fragmentsInFlight: Int = 0,
        bytesAcknowledged: UInt64 = 0, fragmentsSent: UInt64 = 0, fragmentsAcknowledged: UInt64 = 0,
        fragmentsFailed: [String: UInt64] = [:], retries: UInt64 = 0, uploadsDone: UInt64 = 0,
        uploadsFailed: UInt64 = 0, bytesHashed: UInt64 = 0, hashQueue: Int = 0, ledgerBytes: UInt64 = 0,
        ledgerEntries: Int = 0, ledgerCommitTroubles: UInt64 = 0, watches: Int = 0, polledDirectories: Int = 0,
        eventOverflows: UInt64 = 0, scans: UInt64 = 0, lastScan: Duration? = nil, avatars: AvatarFigures? = nil,
        problems: Set<String> = [], isPaused: Bool = false, uptime: Duration = Duration.zero, version: String = ""
    ) {
        self.files = files
        self.uploads = uploads
        self.requestsInFlight = requestsInFlight
        self.fragmentsInFlight = fragmentsInFlight
        self.bytesAcknowledged = bytesAcknowledged
        self.fragmentsSent = fragmentsSent
        self.fragmentsAcknowledged = fragmentsAcknowledged
        self.fragmentsFailed = fragmentsFailed
        self.retries = retries
        self.uploadsDone = uploadsDone
        self.uploadsFailed = uploadsFailed
        self.bytesHashed = bytesHashed
        self.hashQueue = hashQueue
        self.ledgerBytes = ledgerBytes
        self.ledgerEntries = ledgerEntries
        self.ledgerCommitTroubles = ledgerCommitTroubles
        self.watches = watches
        self.polledDirectories = polledDirectories
        self.eventOverflows = eventOverflows
        self.scans = scans
        self.lastScan = lastScan
        self.avatars = avatars
        self.problems = problems
        self.isPaused = isPaused
        self.uptime = uptime
        self.version = version
    }
}
