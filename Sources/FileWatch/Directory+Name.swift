import CLinux
import Glibc
import LinuxSystem
import SystemPackage

extension Directory {
    /// Takes hold of a name below this directory without opening what it stands for (man 2 open, O_PATH), so that not
    /// even a FIFO or a device notices. A symbolic link is taken hold of itself.
    ///
    /// - Throws: `Errno` of openat2(2); `.tooManySymbolicLinkLevels` where a symbolic link stands on the way.
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

    /// The status of what bears a name below this directory; a symbolic link is described, not followed.
    ///
    /// - Throws: `Errno` of openat2(2) or statx(2).
    func look(at path: [UInt8]) throws(Errno) -> FileStatus {
        let name = try hold(path)
        return try FileStatus(of: name.rawValue)
    }
}
