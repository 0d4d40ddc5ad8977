import LinuxSystem
import SystemPackage

/// What one look at a name found.
enum Look: Equatable {
    /// A regular file that nobody has open for writing.
    case free(FileStatus)
    /// A regular file that somebody has open, or mapped, for writing, or that changed during the look.
    case busy
    /// A regular file of which nobody can tell whether it has a writer.
    case unknown(FileStatus)
    /// Neither a regular file nor a directory.
    case odd(FileStatus)
    /// A directory.
    case directory
    /// No such name.
    case missing
    /// The name or the file cannot be opened.
    case unreadable(Errno)
    /// No look could be taken now, for want of descriptors or memory or because a file server is away.
    case starved
}
