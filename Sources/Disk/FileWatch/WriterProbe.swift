import CLinux
import Glibc
import LinuxSystem
import SystemPackage

/// Examines a name and finds out whether a writer has the file open.
struct WriterProbe: Sendable {
    /// Returns the file system of an open file.
    let fileSystem: @Sendable (Int32) -> FileSystemType?

    /// Examines a path below a directory. Opens only regular files.
    func look(at path: [UInt8], in directory: Directory) -> Look {
        do {
            let name = try directory.open(path, flags: O_PATH | O_NOFOLLOW)
            let status = try FileStatus(of: name.rawValue)
            switch status.kind {
            case .directory: return .directory
            case .symbolicLink, .fifo, .socket, .device: return .odd(status)
            case .regular: break
            }
            // Opens through the descriptor: a FIFO or device could have replaced the file under its name.
            let file = Descriptor(
                owning: try retryingOnInterrupt {
                    open("/proc/self/fd/\(name.rawValue)", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
                })
            var answer = Self.tryLease(on: file)(status)
            // Writers elsewhere can change a file on a shared file system; a lease of this kernel does not block
            // them.
            if case .free = answer, fileSystem(file.rawValue)?.isShared != false { answer = .unknown(status) }
            let after = try FileStatus(of: file.rawValue)
            return after == status ? answer : .busy
        } catch {
            return Self.judge(error)
        }
    }

    /// Takes a read lease and gives it back (man 2 fcntl, "Leases"). The kernel grants the lease only while no
    /// descriptor or mapping can write.
    private static func tryLease(on file: borrowing Descriptor) -> (FileStatus) -> Look {
        // A writer that opens the file before the lease is released raises a signal: SIGURG, which is ignored by
        // default, instead of SIGIO, which would end an unprepared process.
        _ = outbox_fcntl(file.rawValue, outbox_f_setsig, SIGURG)
        if outbox_set_lease(file.rawValue, outbox_f_rdlck) == 0 {
            _ = outbox_set_lease(file.rawValue, outbox_f_unlck)
            return { .free($0) }
        }
        return errno == EAGAIN ? { _ in .busy } : { .unknown($0) }
    }

    static func judge(_ error: Errno) -> Look {
        switch LocalError(error) {
        case .missing: .missing
        // The path leads through a symbolic link, so the wanted file does not exist.
        case .replaced: error == .tooManySymbolicLinkLevels ? .missing : .unreadable(error)
        // Another process holds a write lease.
        case .busy: .busy
        case .shortage: .starved
        case .stale, .away, .refused, .unusable: .unreadable(error)
        }
    }
}
