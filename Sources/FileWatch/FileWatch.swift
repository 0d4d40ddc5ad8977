import Glibc
public import LinuxSystem
public import SystemPackage
public import UploadCore

/// Watches a directory tree and tells which files are complete and at rest (man 7 inotify).
///
/// Two threads: one only drains the kernel's queue, so that a burst does not overflow it; the other keeps watches,
/// scans and settles, and calls the handler. With nothing happening neither wakes up, but for the rescan, and every
/// few seconds where directories must be polled: those that could not be watched, and those on a file system that
/// others can change.
///
/// The outbox is opened anew for each round of work and never kept open, so it can be unmounted, and its removal is
/// noticed. Mounts are watched as well, by `/proc`, which must be there. To learn whether a writer has a file open, a read lease is taken and released at
/// once (man 2 fcntl, F_SETLEASE); a writer that comes in this very moment makes the kernel send a SIGURG, which is
/// ignored by default. The process should ignore SIGIO as well, which the kernel falls back to.
public final class FileWatch: Sendable {
    /// How to watch.
    public struct Options: Sendable {
        /// Quiet time after the last event before a file is taken.
        public var settle: Duration
        /// Time from the end of one full scan to the start of the next.
        public var rescan: Duration
        /// How long a file must stand unchanged where nobody can tell whether a writer has it open.
        public var unknownWriterWait: Duration
        /// How often directories are looked at that cannot be watched, or of which events do not tell all.
        public var pollInterval: Duration
        /// The directory that the root was when its user opened it; if another one is watched, `rootBack` says so.
        public var expectedRoot: FileStatus?
        /// Directories that are passed over with everything in them, wherever they appear.
        public var isPrivate: @Sendable (FileStatus) -> Bool
        /// Names that produce nothing; what lies below an ignored directory is never asked for.
        public var isIgnored: @Sendable (_ path: RelativePath, _ isDirectory: Bool) -> Bool
        /// Whether this state of a name, regular file or not, was dealt with already: a scan tells nothing of it then.
        public var isKnown: @Sendable (RelativePath, FileStatus) -> Bool

        /// Options with the defaults of the configuration file, nothing ignored and nothing known.
        ///
        /// The closures are called on the watch's own thread, often: they must be quick.
        public init(
            settle: Duration = .milliseconds(250),
            rescan: Duration = .seconds(60),
            unknownWriterWait: Duration = .seconds(10),
            pollInterval: Duration = .seconds(5),
            expectedRoot: FileStatus? = nil,
            isPrivate: @escaping @Sendable (FileStatus) -> Bool = { _ in false },
            isIgnored: @escaping @Sendable (_ path: RelativePath, _ isDirectory: Bool) -> Bool = { _, _ in false },
            isKnown: @escaping @Sendable (RelativePath, FileStatus) -> Bool = { _, _ in false }
        ) {
            self.settle = settle
            self.rescan = rescan
            self.unknownWriterWait = unknownWriterWait
            self.pollInterval = pollInterval
            self.expectedRoot = expectedRoot
            self.isPrivate = isPrivate
            self.isIgnored = isIgnored
            self.isKnown = isKnown
        }
    }

    private let root: String
    private let options: Options
    private let handler: @Sendable ([WatchEvent]) -> Void
    private let mailbox: Mailbox
    private let monitor: MountMonitor
    private let kernel: Kernel
    private let board = CounterBoard()

    /// What the watch is doing and has done; cheap, from any thread.
    public var counters: WatchCounters { board.latest }

    /// Prepares to watch.
    ///
    /// - Parameters:
    ///   - root: absolute path of the directory, which may itself be a symbolic link.
    ///   - options: how to watch.
    ///   - handler: called on the watch's own thread with events in order; while it runs, events pile up.
    /// - Throws: `Errno` when the directory, or `/proc/self/mountinfo`, cannot be opened.
    public convenience init(
        root: String, options: Options, handler: @escaping @Sendable ([WatchEvent]) -> Void
    ) throws(Errno) {
        try self.init(root: root, options: options, kernel: Kernel(), handler: handler)
    }

    init(
        root: String, options: Options, kernel: Kernel,
        handler: @escaping @Sendable ([WatchEvent]) -> Void
    ) throws(Errno) {
        _ = try Directory(path: root)
        self.root = root
        self.options = options
        self.handler = handler
        self.kernel = kernel
        mailbox = try Mailbox()
        monitor = try kernel.openMounts()
    }

    deinit { stop() }

    /// Starts watching; begins with a full scan. A second call does nothing.
    public func start() {
        guard mailbox.markStarted() else { return }
        let (root, options, mailbox, monitor) = (root, options, mailbox, monitor)
        let (kernel, board, handler) = (kernel, board, handler)
        startThread(name: "watch") {
            Watcher(
                root: root, options: options, mailbox: mailbox, monitor: monitor, kernel: kernel, board: board,
                handler: handler
            ).run()
        }
    }

    /// Asks for a full scan now.
    public func rescan() { mailbox.post(.rescan) }

    /// Settles a file again because it changed while it was read; `ready` or `gone` follows, without a `seen`.
    public func reconsider(_ path: RelativePath) { mailbox.post(.reconsider(path)) }

    /// Ends the watch. A batch that is being delivered is the last one.
    public func stop() { mailbox.post(.stop) }
}
