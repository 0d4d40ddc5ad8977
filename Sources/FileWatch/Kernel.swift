import LinuxSystem
import SystemPackage

/// What the watch asks the kernel for, so that tests can have it answer otherwise.
struct Kernel: Sendable {
    /// Opens an inotify instance that signals what it is given.
    var openQueue: @Sendable (Wakeup) throws(Errno) -> InotifyQueue = { wakeup throws(Errno) in
        try InotifyQueue(wakeup: wakeup)
    }
    /// Opens the table of mounts.
    var openMounts: @Sendable () throws(Errno) -> MountMonitor = { () throws(Errno) in try MountMonitor() }
    /// Watches a directory.
    var watch: @Sendable (InotifyQueue, Directory, _ isRoot: Bool) throws(Errno) -> Int32 = {
        queue, directory, isRoot throws(Errno) in try queue.watch(directory, isRoot: isRoot)
    }
    /// The file system of an open file; nil where it does not say.
    var fileSystem: @Sendable (Int32) -> FileSystemType? = { try? FileSystemType(of: $0) }
    /// What a limit is set to.
    var limit: @Sendable (InotifyLimit) -> InotifyLimit.Setting? = { $0.setting() }
}
