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
    /// Some directories cannot be watched and are looked at every few seconds; told once until all are watched again.
    case watchLimit(WatchLimit)
    /// The outbox itself is gone, unmounted or replaced. Nothing below it counts as removed; it is waited for.
    case rootLost(reason: String)
    /// The outbox is there again; a full scan follows.
    ///
    /// - `isSame`: whether it is the very directory that was lost, by device, inode and birth time.
    case rootBack(isSame: Bool)
}

/// Why a directory is polled instead of watched.
public struct WatchLimit: Equatable, Sendable {
    /// The first directory that could not be watched.
    public var directory: RelativePath
    /// What the kernel said.
    public var error: Errno
    /// What happened, in words.
    public var reason: String
    /// What a person can do about it.
    public var remedy: String

    init(directory: RelativePath, error: Errno) {
        self.directory = directory
        self.error = error
        switch error {
        case .noSpace:
            reason = "the limit of inotify watches of this user is reached"
            remedy = "raise it: sysctl fs.inotify.max_user_watches=1048576"
        case .tooManyOpenFiles:
            reason = "the limit of inotify instances of this user, or of open files, is reached"
            remedy = "raise it: sysctl fs.inotify.max_user_instances=1024, or ulimit -n"
        default:
            reason = "the directory cannot be watched: \(error)"
            remedy = "files in it are found by polling; use a local file system for instant notice"
        }
    }
}

/// What a full scan found.
public struct ScanSummary: Equatable, Sendable {
    /// Number of names that are not directories, known files included, ignored ones not.
    public internal(set) var files = 0
    /// Number of directories, the outbox included.
    public internal(set) var directories = 0
    /// Directories that could not be listed.
    public internal(set) var unreadable: [RelativePath] = []
    /// Number of directories that are polled because they cannot be watched.
    public internal(set) var unwatched = 0

    // 64-bit hashes instead of paths: a million files are 16 MB. Swift's hash is keyed anew in each process, so nobody
    // can prepare names that collide.
    private var seen: Set<Int> = []

    init() {}

    /// Whether a file was there at some time during the scan, or cannot be told because its directory could not be
    /// listed. A path for which this is false was not there.
    public func contains(_ path: RelativePath) -> Bool {
        seen.contains(path.hashValue) || unreadable.contains { path.isWithin($0) }
    }

    mutating func insert(_ path: RelativePath) {
        if seen.insert(path.hashValue).inserted { files += 1 }
    }
}
