public import SystemPackage
public import UploadCore

/// A limit that makes events incomplete, reported once for each cause.
public struct WatchLimit: Equatable, Sendable {
    /// The exhausted resource.
    public enum Cause: Hashable, Sendable {
        /// The user's inotify watches: some directories are polled.
        case watches
        /// The user's inotify instances: all directories are polled.
        case instances
        /// The open files of this process or of the machine: some directories are polled.
        case descriptors
        /// The kernel's event queue: events were lost, and a full scan makes up for them.
        case queuedEvents
        /// Another kernel error: some directories are polled.
        case other(Errno)

        /// - Parameter canOpen: whether this process can still open files. EMFILE means either the instance limit or
        ///   the limit of open files.
        init(_ error: Errno, canOpen: Bool) {
            switch error {
            case .noSpace: self = .watches
            case .tooManyOpenFiles: self = canOpen ? .instances : .descriptors
            case .tooManyOpenFilesInSystem: self = .descriptors
            default: self = .other(error)
            }
        }
    }

    /// The exhausted resource.
    var cause: Cause
    /// The first directory that could not be watched; the outbox itself if the limit concerns no single directory.
    public var directory: RelativePath
    /// The reason as text for the user.
    public var reason: String
    /// Instructions for raising the limit.
    public var remedy: String

    /// - Parameter setting: reads the kernel's limit for the cause.
    init(_ cause: Cause, at directory: RelativePath, setting: (InotifyLimit) -> InotifyLimit.Setting?) {
        self.cause = cause
        self.directory = directory
        switch cause {
        case .watches:
            reason = "all inotify watches of this user are in use"
            remedy = setting(.watches)?.remedy ?? "raise the sysctl fs.inotify.max_user_watches"
        case .instances:
            reason = "all inotify instances of this user are in use"
            remedy = setting(.instances)?.remedy ?? "raise the sysctl fs.inotify.max_user_instances"
        case .descriptors:
            reason = "the limit of open files is reached"
            remedy = "raise the limit of open files: `ulimit -n`, or LimitNOFILE= of the service"
        case .queuedEvents:
            reason = "files changed faster than the kernel's event queue could hold"
            remedy = setting(.queuedEvents)?.remedy ?? "raise the sysctl fs.inotify.max_queued_events"
        case .other(let error):
            reason = "the directory cannot be watched: \(error)"
            remedy = "the agent polls the directory instead; use a local file system for instant detection"
        }
    }
}
