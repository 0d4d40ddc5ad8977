internal import Foundation
internal import Glibc

/// Makes writes fail as on a full disk.
public enum FullDevice {
    /// Puts `/dev/full` (man 4 full) in place of each synchronous descriptor that this process holds of a file, such as
    /// the one through which LMDB writes its meta pages. The file itself keeps its content.
    ///
    /// - Returns: how many descriptors were replaced.
    public static func replaceSynchronousDescriptors(of path: String) throws -> Int {
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        guard full >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        defer { close(full) }
        var replaced = 0
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
            guard target == path, let descriptor = Int32(name), fcntl(descriptor, F_GETFL) & O_DSYNC != 0 else {
                continue
            }
            guard dup2(full, descriptor) == descriptor, fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
                throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
            }
            replaced += 1
        }
        return replaced
    }
}
