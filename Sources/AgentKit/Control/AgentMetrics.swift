import UploadCore

/// All counters and measurements for `GET /metrics` (docs/control.md).
///
/// Counters start at 0 with the process and only grow. Times are in seconds, sizes in bytes.
struct AgentMetrics: Equatable, Sendable {
    /// Number of paths by state. States without paths are 0 or missing.
    var files: [FileState: Int] = [:]
    /// Contents that are neither confirmed nor given up.
    var uploads = 0
    /// Requests to the server in progress, of any kind.
    var requestsInFlight = 0
    /// Fragments being sent.
    var fragmentsInFlight = 0

    /// Bytes of fragments that the server acknowledged (counter).
    var bytesAcknowledged: UInt64 = 0
    /// Fragments that began to be sent, including repetitions (counter).
    var fragmentsSent: UInt64 = 0
    /// Fragments that the server acknowledged (counter).
    var fragmentsAcknowledged: UInt64 = 0
    /// Fragments that could not be sent, by class of failure: the case name of `RemoteFailure` in snake_case
    /// (counter).
    var fragmentsFailed: [String: UInt64] = [:]
    /// Fragments that failed temporarily and are sent again (counter).
    var retries: UInt64 = 0
    /// Paths whose content the server confirmed (counter).
    var uploadsDone: UInt64 = 0
    /// Paths that failed for good (counter).
    var uploadsFailed: UInt64 = 0

    /// Bytes read for hashing (counter).
    var bytesHashed: UInt64 = 0
    /// Files that are being hashed or wait for it.
    var hashQueue = 0

    /// Size of the ledger's file.
    var ledgerBytes: UInt64 = 0
    /// Number of paths in the ledger.
    var ledgerEntries = 0
    /// How often changes could not be made durable at once: full disk, I/O error (counter).
    var ledgerCommitTroubles: UInt64 = 0

    /// Directories watched by the kernel.
    var watches = 0
    /// Polled directories, which the kernel can't watch.
    var polledDirectories = 0
    /// How often the kernel dropped events because its queue was full (counter).
    var eventOverflows: UInt64 = 0
    /// Completed full scans (counter).
    var scans: UInt64 = 0
    /// Duration of the last full scan; `nil` before the first one ends.
    var lastScan: Duration?

    /// The mirror of the server's pictures; `nil` without a mirror.
    var avatars: AvatarFigures?

    /// Problems that need a person's attention, by code.
    var problems: Set<String> = []
    /// Whether everything is paused.
    var isPaused = false
    /// How long the agent has been running.
    var uptime = Duration.zero
    /// The program's version.
    var version = ""
}
