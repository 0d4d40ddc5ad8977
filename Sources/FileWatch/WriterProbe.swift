import CLinux
import Glibc
import LinuxSystem
import SystemPackage

/// Looks at a name and finds out whether a writer has the file open.
struct WriterProbe {
    /// The file system of an open file.
    let fileSystem: @Sendable (Int32) -> FileSystemType?

    /// Looks at a name in a listed directory, with a single system call where the name is known.
    ///
    /// - Parameter isKnown: what answers whether a status was dealt with already; no directory is asked for.
    /// - Returns: nil for what is known.
    func look(at name: [UInt8], in directory: Directory, unless isKnown: (FileStatus) -> Bool) -> Look? {
        do {
            let status = try FileStatus(ofName: name, in: directory)
            if status.kind != .directory && isKnown(status) { return nil }
        } catch {
            return Self.judge(error)
        }
        return look(at: name, in: directory)
    }

    /// Looks at something below a directory. Only a regular file is ever opened.
    func look(at path: [UInt8], in directory: Directory) -> Look {
        do {
            let name = try directory.hold(path)
            let status = try FileStatus(of: name.rawValue)
            switch status.kind {
            case .directory: return .directory
            case .symbolicLink, .fifo, .socket, .device: return .odd(status)
            case .regular: break
            }
            // Through its descriptor: by name a FIFO or device could have taken the file's place since.
            let file = Descriptor(
                owning: try retryingOnInterrupt {
                    open("/proc/self/fd/\(name.rawValue)", O_RDONLY | O_NONBLOCK | O_CLOEXEC)
                })
            var answer = Self.tryLease(on: file)(status)
            // Others may write there whom no lease of this kernel holds off.
            if case .free = answer, fileSystem(file.rawValue)?.isShared != false { answer = .unknown(status) }
            let after = try FileStatus(of: file.rawValue)
            return after == status ? answer : .busy
        } catch {
            return Self.judge(error)
        }
    }

    /// Takes a read lease, which the kernel grants only while no descriptor or mapping can write, and gives it back
    /// (man 2 fcntl, "Leases").
    private static func tryLease(on file: borrowing Descriptor) -> (FileStatus) -> Look {
        // A writer that comes before the lease is back raises a signal: one that is ignored by default instead of
        // SIGIO, which would end a process that does not expect it.
        _ = outbox_fcntl(file.rawValue, outbox_f_setsig, SIGURG)
        if outbox_set_lease(file.rawValue, outbox_f_rdlck) == 0 {
            _ = outbox_set_lease(file.rawValue, outbox_f_unlck)
            return { .free($0) }
        }
        return errno == EAGAIN ? { _ in .busy } : { .unknown($0) }
    }

    private static func judge(_ error: Errno) -> Look {
        switch error {
        // A symbolic link or a file in place of a directory on the way: whatever was meant is not there.
        case .noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels: .missing
        // Somebody holds a write lease.
        case .wouldBlock: .busy
        case .tooManyOpenFiles, .tooManyOpenFilesInSystem, .noMemory: .starved
        // A server that is away: what it holds is as good as ever when it is back.
        case .staleNFSFileHandle, .socketNotConnected, .timedOut, .hostIsDown, .noRouteToHost: .starved
        default: .unreadable(error)
        }
    }
}
