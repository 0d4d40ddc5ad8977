import CLinux
import Glibc
import LinuxSystem
import SystemPackage

extension Directory {
    /// Opens a name below this directory without opening the file behind the name (man 2 open, O_PATH), so that not
    /// even a FIFO or a device notices. For a symbolic link, opens the link itself.
    ///
    /// - Throws: `Errno` of openat2(2); `.tooManySymbolicLinkLevels` if a directory on the way is a symbolic link.
    func hold(_ path: [UInt8]) throws(Errno) -> Descriptor {
        if path.contains(0) { throw .invalidArgument }
        // openat2(2) refuses any further flag beside O_PATH.
        let flags = UInt64(UInt32(bitPattern: O_PATH | O_NOFOLLOW | O_CLOEXEC))
        let resolve = outbox_resolve_beneath | outbox_resolve_no_symlinks
        let name = (path.isEmpty ? [UInt8(ascii: ".")] : path) + [0]
        let raw = try retryingOnInterrupt {
            name.withUnsafeBytes { bytes in
                outbox_openat2(rawValue, bytes.assumingMemoryBound(to: CChar.self).baseAddress, flags, 0, resolve)
            }
        }
        return Descriptor(owning: raw)
    }

    /// Returns the status of a name below this directory; describes a symbolic link instead of following the link.
    ///
    /// - Throws: `Errno` of openat2(2) or statx(2).
    func look(at path: [UInt8]) throws(Errno) -> FileStatus {
        let name = try hold(path)
        return try FileStatus(of: name.rawValue)
    }
}
