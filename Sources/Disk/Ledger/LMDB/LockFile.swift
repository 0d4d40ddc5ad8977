import Glibc
import LinuxSystem
import SystemPackage

/// The file beside the ledger's file in which LMDB stores its table of readers.
enum LockFile {
    /// Room for LMDB's header and its 126 readers (`mdb_env_setup_locks` in mdb.c) on any machine, in bytes.
    private static let size: off_t = 16 << 10

    /// Reserves disk space for the file.
    ///
    /// LMDB sizes the file with ftruncate(2), which leaves a hole, and writes through its map: on a full disk the
    /// first write would raise SIGBUS.
    ///
    /// - Throws: `LMDBError` with the error of open(2) or posix_fallocate(3).
    static func reserve(_ path: String) throws(LMDBError) {
        do throws(Errno) {
            let file = try SharedDescriptor(opening: path, flags: O_RDWR | O_CREAT, mode: 0o600)
            let code = posix_fallocate(file.rawValue, 0, size)
            // Accept a file system that cannot reserve space.
            if code != 0, code != EOPNOTSUPP, code != EINVAL { throw Errno(rawValue: code) }
        } catch {
            throw LMDBError(code: error.rawValue, operation: "posix_fallocate", context: path)
        }
    }
}
