import Glibc
import LinuxSystem
import SystemPackage

/// The file beside the ledger's in which LMDB keeps its table of readers.
enum LockFile {
    /// Room for LMDB's head and its 126 readers (`mdb_env_setup_locks` in mdb.c), whatever the machine.
    private static let size: off_t = 16 << 10

    /// Makes sure that the file has its place on the disk.
    ///
    /// LMDB makes it by ftruncate(2), that is as a hole, and writes through its map: on a full disk the first write
    /// would raise SIGBUS.
    ///
    /// - Throws: `LMDBError` with what open(2) or posix_fallocate(3) report.
    static func reserve(_ path: String) throws(LMDBError) {
        do throws(Errno) {
            let file = try SharedDescriptor(opening: path, flags: O_RDWR | O_CREAT, mode: 0o600)
            let code = posix_fallocate(file.rawValue, 0, size)
            // A file system that can't promise room is used all the same.
            if code != 0, code != EOPNOTSUPP, code != EINVAL { throw Errno(rawValue: code) }
        } catch {
            throw LMDBError(code: error.rawValue, operation: "posix_fallocate", context: path)
        }
    }
}
