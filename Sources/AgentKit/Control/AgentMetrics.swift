import UploadCore

/// Everything that is counted and measured, as `GET /metrics` tells it (docs/control.md).
///
/// Counters only grow while the process lives and begin at 0 with it. Times are in seconds, sizes in bytes.
struct AgentMetrics: Equatable, Sendable {
    /// Paths by state, states that no path is in included as 0 or left out.
    var files: [FileState: Int] = [:]
    /// Uploads that the machine knows, that is contents that are neither confirmed nor given up.
    var uploads = 0
    /// Requests to the server that are under way, of any kind.
    var requestsInFlight = 0
    /// Fragments that are being sent now.
    var fragmentsInFlight = 0

    /// Bytes of fragments that the server acknowledged (counter).
    var bytesAcknowledged: UInt64 = 0
    /// Fragments that began to be sent, repetitions included (counter).
    var fragmentsSent: UInt64 = 0
    /// Fragments that the server acknowledged (counter).
    var fragmentsAcknowledged: UInt64 = 0
    /// Fragments whose sending failed, by class of failure: the case name of `RemoteFailure`, snake_case (counter).
    var fragmentsFailed: [String: UInt64] = [:]
    /// Attempts begun after a failure, over all uploads (counter).
    var retries: UInt64 = 0
    /// Contents that the server confirmed (counter).
    var uploadsDone: UInt64 = 0
    /// Uploads that failed for good (counter).
    var uploadsFailed: UInt64 = 0

    /// Bytes that were read for their MD5 (counter).
    var bytesHashed: UInt64 = 0
    /// Files that wait to be hashed or are being hashed.
    var hashQueue = 0

    /// Size of the ledger's file.
    var ledgerBytes: UInt64 = 0
    /// Paths the ledger holds.
    var ledgerEntries = 0
    /// Times that changes could not be made durable at once: full disk, I/O error (counter).
    var ledgerCommitTroubles: UInt64 = 0

    /// Directories watched by the kernel.
    var watches = 0
    /// Directories that are polled because they can't be watched.
    var polledDirectories = 0
    /// Times the kernel dropped events because its queue was full (counter).
    var eventOverflows: UInt64 = 0
    /// Full scans that ended (counter).
    var scans: UInt64 = 0
    /// How long the last full scan took; nil before the first ended.
    var lastScan: Duration?

    /// The mirror of the server's pictures; nil where there is none.
    var avatars: AvatarFigures?

    /// What needs a person's attention, by code.
    var problems: Set<String> = []
    /// Whether everything is paused.
    var isPaused = false
    /// How long the agent has been running.
    var uptime = Duration.zero
    /// The program's version.
    var version = ""
}
