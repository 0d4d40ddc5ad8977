public import LinuxSystem
public import SystemPackage
public import UploadCore

/// What happened below the outbox. Events of one path come in causal order.
public enum WatchEvent: Equatable, Sendable {
    /// A file's name appeared or a writer closed it; told once until ``ready``, ``odd``, ``unreadable`` or ``gone``
    /// follows. A scan that finds a file ready to be taken does not tell this first.
    case seen(RelativePath)
    /// A regular file that was quiet for the settling time and that no writer has open.
    case ready(RelativePath, FileStatus)
    /// Neither a regular file nor a directory: a symbolic link, FIFO, socket or device. It was not opened.
    case odd(RelativePath, FileStatus)
    /// A file or directory that cannot be looked at, opened or listed.
    case unreadable(RelativePath, Errno)
    /// The name is gone: a file, or a directory with everything below it. It may be told twice.
    case gone(RelativePath)
    /// A name was changed within the outbox; what bore the new name before is gone. A file's `ready` may follow.
    case renamed(from: RelativePath, to: RelativePath, isDirectory: Bool)
    /// A full scan ended.
    case scanned(ScanSummary)
    /// Events were lost; a full scan that makes up for them is on its way.
    case overflowed
    /// A limit of the kernel is reached: some directories cannot be watched and are polled, or events were lost. Told
    /// once for each cause, and again only after it had gone.
    case watchLimit(WatchLimit)
    /// The file system that was mounted at a path below the outbox is away. Nothing below it counts as removed.
    case mountLost(RelativePath)
    /// Something is mounted at a path below the outbox that was not before; what it holds is told of as after a scan.
    ///
    /// - `isSame`: whether it is the very file system that was lost there. If not, files that were known there are
    ///   elsewhere, not removed.
    case mounted(RelativePath, isSame: Bool)
    /// The outbox itself is gone, unmounted or replaced. Nothing below it counts as removed; it is waited for.
    case rootLost(reason: String)
    /// The outbox is there again; a full scan follows.
    ///
    /// - `isSame`: whether it is the very directory that was lost, by device, inode and birth time.
    case rootBack(isSame: Bool)
}
