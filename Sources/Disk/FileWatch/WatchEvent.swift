public import LinuxSystem
public import SystemPackage
public import UploadCore

/// An event below the outbox. Events of one path come in causal order.
public enum WatchEvent: Equatable, Sendable {
    /// A file's name appeared or a writer closed the file; reported once until ``ready``, ``odd``, ``unreadable`` or
    /// ``gone`` follows. If a scan finds a file already complete, `ready` comes without `seen`.
    case seen(RelativePath)
    /// A regular file was quiet for the settling time, and no writer has it open.
    case ready(RelativePath, FileStatus)
    /// Not a regular file or directory but a symbolic link, FIFO, socket or device. The watch did not open it.
    case odd(RelativePath, FileStatus)
    /// A file cannot be examined or opened. The error may pass (``LocalError``); the watch looks again after
    /// ``FileWatch/reconsider(_:)``, and with each scan.
    case unreadable(RelativePath, Errno)
    /// A directory cannot be opened or listed. The next scan tries again.
    case unlistable(RelativePath, Errno)
    /// A name disappeared: a file, or a directory with everything below it. May be reported twice.
    case gone(RelativePath)
    /// A rename within the outbox; a file that had the new name before is gone. A file's `ready` may follow.
    case renamed(from: RelativePath, to: RelativePath, isDirectory: Bool)
    /// A full scan ended.
    case scanned(ScanSummary)
    /// Whether the watch defers new files, because its user works on too many others (``IntakeLoad``). Ends with
    /// `false` once all of them are reported.
    case deferring(Bool)
    /// The kernel dropped events; a full scan follows and makes up for them.
    case overflowed
    /// A kernel limit is reached: some directories cannot be watched and are polled, or events were lost. Reported
    /// once for each cause, and again only after the condition has ended.
    case watchLimit(WatchLimit)
    /// The file system mounted at a path below the outbox is missing. Files below the path do not count as removed.
    case mountLost(RelativePath)
    /// A file system was mounted at a path below the outbox; its files are reported as after a scan.
    ///
    /// - `isSame`: whether it is the file system lost earlier at this path. If not, the files known at this path are
    ///   on another file system, not removed.
    case mounted(RelativePath, isSame: Bool)
    /// The outbox itself was removed, unmounted or replaced. Files below it do not count as removed; the watch waits
    /// for the outbox to return.
    case rootLost(reason: String)
    /// The outbox reappeared; a full scan follows.
    ///
    /// - `isSame`: whether it is the lost directory itself, by device, inode and birth time.
    case rootBack(isSame: Bool)
}
