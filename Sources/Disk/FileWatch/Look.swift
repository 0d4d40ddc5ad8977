import LinuxSystem
import SystemPackage

/// The result of one look at a name.
enum Look: Equatable {
    /// A regular file with no writer.
    case free(FileStatus)
    /// A regular file that a process has open or mapped for writing, or that changed during the look.
    case busy
    /// A regular file; whether a writer has the file open cannot be determined.
    case unknown(FileStatus)
    /// Neither a regular file nor a directory.
    case odd(FileStatus)
    /// A directory.
    case directory
    /// The name does not exist.
    case missing
    /// The name or the file cannot be opened.
    case unreadable(Errno)
    /// The look failed for lack of descriptors or memory.
    case starved
}
