import Glibc
public import SystemPackage

/// What the error of a call on a local file means for the file. The only such table: it tells passing errors from final
/// ones.
public enum LocalError: Equatable, Sendable {
    /// Nothing has the name.
    case missing
    /// The file system no longer knows the open file or directory. Its name may lead to it again.
    case stale
    /// Something else than the expected kind of file has the name.
    case replaced
    /// Another process holds a lease or lock on the file for the moment.
    case busy
    /// This process or the machine lacks descriptors or memory.
    case shortage
    /// The disk, or the server of the file system, does not answer properly. It may do so later.
    case away
    /// Permissions forbid the access.
    case refused
    /// The file can't be used, however long one waits.
    case unusable

    /// What a call was about to do.
    public enum Call: Sendable {
        /// Find or open the file.
        case open
        /// Read the open file.
        case read
    }

    /// Judges the error of a call.
    public init(_ error: Errno, of call: Call = .open) {
        self =
            switch error.rawValue {
            case ENOENT, ENOTDIR: .missing
            case ESTALE: .stale
            // EINVAL: a look-up that expects a regular file found another kind.
            case ELOOP, EINVAL, EISDIR, ENXIO: .replaced
            case EAGAIN, ETXTBSY, EDEADLK: .busy
            case EMFILE, ENFILE, ENOMEM, ENOBUFS: .shortage
            // Once a file is open, only its server can refuse the access, for example with an expired ticket.
            case EACCES, EPERM: call == .open ? .refused : .away
            case ENAMETOOLONG, EOVERFLOW, EFBIG, ENOSYS, EOPNOTSUPP, EXDEV, EBADF, EFAULT: .unusable
            // EIO, ETIMEDOUT, ENOTCONN, EHOSTDOWN and many more: file systems in the network and in user space may answer
            // any error.
            default: .away
            }
    }

    /// Whether waiting may help, with nobody changing the file.
    public var isPassing: Bool {
        switch self {
        case .missing, .replaced, .refused, .unusable: false
        case .stale, .busy, .shortage, .away: true
        }
    }

    /// What the user can do.
    public var remedy: String {
        switch self {
        case .missing, .replaced: "put a regular file in its place"
        case .stale, .away: "the agent tries again; check the disk, or the connection to the server of the files"
        case .busy: "the agent tries again once the other program lets go of it"
        case .shortage: "the agent tries again; raise its limit of open files, or of memory"
        case .refused: "check its permissions"
        case .unusable: "rename or copy it, so that programs can open it"
        }
    }
}
