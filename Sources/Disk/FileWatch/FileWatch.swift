import Glibc
public import LinuxSystem
public import SystemPackage
public import UploadCore

/// Watches a directory tree and reports files that are complete and quiet (man 7 inotify).
///
/// Uses two threads. The reader only drains the kernel's queue, so that a burst does not overflow the queue. The
/// watch thread manages watches, scans directories, settles files and calls the handler. While nothing happens, the
/// threads wake up only for the rescan, and every few seconds if some directories need polling: unwatchable
/// directories, and directories on a shared file system.
///
/// `FileWatch` opens the outbox anew for each round of work and closes it afterwards, so the outbox can be unmounted,
/// and a removal is noticed. Mounts are watched through `/proc`, which must be mounted. To learn whether a writer has
/// a file open, the watch thread takes a read lease and releases it at once (man 2 fcntl, F_SETLEASE). If a writer
/// opens the file during that moment, the kernel sends SIGURG, which is ignored by default. The process should ignore
/// SIGIO as well, the kernel's fallback signal.
public final class FileWatch: Sendable {
    /// Settings of a watch.
    public struct Options: Sendable {
        /// Quiet time after a file's last event before the watch reports the file as ready.
        var settle: Duration
        /// Time from the end of one full scan to the start of the next.
        var rescan: Duration
        /// How long a file must stay unchanged if the watch cannot tell whether a writer has the file open.
        var unknownWriterWait: Duration
        /// Time between two looks at a directory that cannot be watched, or whose events are incomplete.
        var pollInterval: Duration
        /// The outbox directory as its user opened it; `rootBack` reports a different directory at the root's path.
        var expectedRoot: FileStatus?
        /// Returns true for a directory to skip with its whole content, at any path.
        var isPrivate: @Sendable (FileStatus) -> Bool
        /// Returns true for a name to ignore; never called for paths below an ignored directory.
        var isIgnored: @Sendable (_ path: RelativePath, _ isDirectory: Bool) -> Bool
        /// Returns true if the caller already handled this state of a name, regular file or not; a scan then skips
        /// the name.
        var isKnown: @Sendable (RelativePath, FileStatus) -> Bool
        /// Returns true for a file to report at once, however high the load is.
        var isUrgent: @Sendable (RelativePath) -> Bool
        /// The files that the caller still works on. While there are too many, the watch defers new ones.
        var load: IntakeLoad
        /// The file systems of the outbox that may not answer; nil to find them.
        var mounts: OutboxMounts?
        /// Bytes that the names of deferred files may take in memory: some 20,000 names. The others are found by listing
        /// their directory.
        var nameLimit = 1 << 20

        /// Creates options with the configuration file's defaults, ignoring no names and knowing no files.
        ///
        /// The watch thread calls the closures often: they must be quick.
        public init(
            settle: Duration = .milliseconds(250),
            rescan: Duration = .seconds(60),
            unknownWriterWait: Duration = .seconds(10),
            pollInterval: Duration = .seconds(5),
            expectedRoot: FileStatus? = nil,
            isPrivate: @escaping @Sendable (FileStatus) -> Bool = { _ in false },
            isIgnored: @escaping @Sendable (_ path: RelativePath, _ isDirectory: Bool) -> Bool = { _, _ in false },
            isKnown: @escaping @Sendable (RelativePath, FileStatus) -> Bool = { _, _ in false },
            isUrgent: @escaping @Sendable (RelativePath) -> Bool = { _ in false },
            load: IntakeLoad = IntakeLoad(window: .max),
            mounts: OutboxMounts? = nil
        ) {
            self.settle = settle
            self.rescan = rescan
            self.unknownWriterWait = unknownWriterWait
            self.pollInterval = pollInterval
            self.expectedRoot = expectedRoot
            self.isPrivate = isPrivate
            self.isIgnored = isIgnored
            self.isKnown = isKnown
            self.isUrgent = isUrgent
            self.load = load
            self.mounts = mounts
        }
    }

    private let root: String
    private let options: Options
    private let handler: @Sendable ([WatchEvent]) -> Void
    private let mailbox: Mailbox
    private let monitor: MountMonitor
    private let mounts: OutboxMounts
    private let kernel: Kernel
    private let board = CounterBoard()

    /// The watch's current state and totals; cheap, callable from any thread.
    public var counters: WatchCounters { board.latest }

    /// Prepares a watch.
    ///
    /// - Parameters:
    ///   - root: absolute path of the directory; the last component may be a symbolic link.
    ///   - options: how to watch.
    ///   - handler: called on the watch thread with events in order; while the handler runs, further events queue up.
    /// - Throws: `Errno` if the directory or `/proc/self/mountinfo` cannot be opened.
    public convenience init(
        root: String, options: Options, handler: @escaping @Sendable ([WatchEvent]) -> Void
    ) throws(Errno) {
        try self.init(root: root, options: options, kernel: Kernel(), handler: handler)
    }

    init(
        root: String, options: Options, kernel: Kernel,
        handler: @escaping @Sendable ([WatchEvent]) -> Void
    ) throws(Errno) {
        var options = options
        let mounts = if let given = options.mounts { given } else { try OutboxMounts(root: root) }
        options.mounts = mounts
        // An outbox that does not answer exists.
        do {
            _ = try mounts.call(.root, "opening") { closer throws(Errno) in
                try Directory(path: root, closer: closer)
            }
        } catch {
            if error != .timedOut { throw error }
        }
        self.root = root
        self.options = options
        self.mounts = mounts
        self.handler = handler
        self.kernel = kernel
        mailbox = try Mailbox()
        options.load.attach(mailbox.wakeup)
        mounts.lanes.onAnswer { [mailbox] in mailbox.post(.answered) }
        monitor = try kernel.openMounts()
    }

    deinit { stop() }

    /// Starts watching with a full scan. Idempotent.
    public func start() {
        guard mailbox.markStarted() else { return }
        let (root, options, mailbox, monitor) = (root, options, mailbox, monitor)
        let (kernel, board, handler, mounts) = (kernel, board, handler, mounts)
        startThread(name: "watch") {
            Watcher(
                root: root, options: options, mailbox: mailbox, monitor: monitor, places: mounts, kernel: kernel,
                board: board, handler: handler
            ).run()
        }
    }

    /// Requests a full scan now.
    func rescan() { mailbox.post(.rescan) }

    /// Settles a file again because the file changed during a read; `ready` or `gone` follows, without a `seen`.
    public func reconsider(_ path: RelativePath) { mailbox.post(.reconsider(path)) }

    /// Stops the watch. A batch already being delivered is the last one.
    public func stop() { mailbox.post(.stop) }
}
