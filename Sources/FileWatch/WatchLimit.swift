public import SystemPackage
public import UploadCore

/// What keeps the kernel from telling of everything, told once for each cause.
public struct WatchLimit: Equatable, Sendable {
    /// What is exhausted.
    public enum Cause: Hashable, Sendable {
        /// The watches of this user: some directories are polled.
        case watches
        /// The inotify instances of this user: all directories are polled.
        case instances
        /// The open files of this process or of the machine: some directories are polled.
        case descriptors
        /// The kernel's queue of events: some were lost, and a full scan makes up for them.
        case queuedEvents
        /// The kernel gave another reason: some directories are polled.
        case other(Errno)

        /// - Parameter canOpen: whether this process may still open files. The limit of instances and that of open files
        ///   are the same error.
        init(_ error: Errno, canOpen: Bool) {
            switch error {
            case .noSpace: self = .watches
            case .tooManyOpenFiles: self = canOpen ? .instances : .descriptors
            case .tooManyOpenFilesInSystem: self = .descriptors
            default: self = .other(error)
            }
        }
    }

    /// What is exhausted.
    public var cause: Cause
    /// The first directory that could not be watched; the outbox itself where it is not about one directory.
    public var directory: RelativePath
    /// What happened, in words.
    public var reason: String
    /// What a person can do about it.
    public var remedy: String

    /// - Parameter setting: reads the kernel's limit of that kind.
    init(_ cause: Cause, at directory: RelativePath, setting: (InotifyLimit) -> InotifyLimit.Setting?) {
        self.cause = cause
        self.directory = directory
        switch cause {
        case .watches:
            reason = "all inotify watches of this user are taken"
            remedy = setting(.watches)?.remedy ?? "raise the sysctl fs.inotify.max_user_watches"
        case .instances:
            reason = "all inotify instances of this user are taken"
            remedy = setting(.instances)?.remedy ?? "raise the sysctl fs.inotify.max_user_instances"
        case .descriptors:
            reason = "no more files can be opened"
            remedy = "raise the limit of open files: `ulimit -n`, or LimitNOFILE= of the service"
        case .queuedEvents:
            reason = "files changed faster than the kernel's queue of events could take"
            remedy = setting(.queuedEvents)?.remedy ?? "raise the sysctl fs.inotify.max_queued_events"
        case .other(let error):
            reason = "the directory cannot be watched: \(error)"
            remedy = "files in it are found by polling; use a local file system for instant notice"
        }
    }
}
