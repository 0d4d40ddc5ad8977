import LinuxSystem
import SystemPackage
import UploadCore

/// The kernel calls of the watch, replaceable in tests.
struct Kernel: Sendable {
    /// Opens an inotify instance that signals the given wakeup.
    var openQueue: @Sendable (Wakeup) throws(Errno) -> InotifyQueue = { wakeup throws(Errno) in
        try InotifyQueue(wakeup: wakeup)
    }
    /// Opens the mount table.
    var openMounts: @Sendable () throws(Errno) -> MountMonitor = { () throws(Errno) in try MountMonitor() }
    /// Watches a directory.
    var watch: @Sendable (InotifyQueue, Directory, _ isRoot: Bool) throws(Errno) -> Int32 = {
        queue, directory, isRoot throws(Errno) in try queue.watch(directory, isRoot: isRoot)
    }
    /// Returns the file system of an open file; nil if fstatfs(2) fails.
    var fileSystem: @Sendable (Int32) -> FileSystemType? = { try? FileSystemType(of: $0) }
    /// Whether directories list a path in this very spelling; true if unknown.
    var lists: @Sendable (Directory, RelativePath) -> Bool = { root, path in (try? root.lists(path.bytes)) ?? true }
    /// Reads a limit's current setting.
    var limit: @Sendable (InotifyLimit) -> InotifyLimit.Setting? = { $0.setting() }
}
