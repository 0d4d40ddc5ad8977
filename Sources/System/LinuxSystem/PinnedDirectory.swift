import Synchronization
public import SystemPackage

/// A directory reopened by its path for each use, but only while the path leads to the same directory.
///
/// The directory is closed between two uses, so that the file system can be unmounted. The then empty mount point, or
/// any other directory in its place, is refused.
public final class PinnedDirectory: Sendable {
    /// Absolute path; its last component may be a symbolic link.
    public let path: String
    private let known = Mutex<DirectoryIdentity?>(nil)

    /// Creates a pin for a directory that may not exist yet. The first ``open()`` pins the directory at the path.
    public init(path: String) {
        self.path = path
    }

    /// Opens the directory.
    ///
    /// - Parameter closer: closes the directory; see ``SharedDescriptor``.
    /// - Throws: `Errno` of open(2); `.staleNFSFileHandle` if the path no longer leads to the pinned directory.
    public func open(closer: SharedDescriptor.Closer? = nil) throws(Errno) -> Directory {
        let directory: Directory
        do throws(Errno) {
            directory = try Directory(path: path, closer: closer)
        } catch {
            let isGone = [.noSuchFileOrDirectory, .notDirectory].contains(error)
            throw isGone && known.withLock { $0 != nil } ? .staleNFSFileHandle : error
        }
        let found = DirectoryIdentity(try FileStatus(of: directory.rawValue))
        let isSame = known.withLock { known in
            if known == nil { known = found }
            return known == found
        }
        guard isSame else { throw .staleNFSFileHandle }
        return directory
    }

    /// Pins the directory now at the path instead of the previous one.
    ///
    /// - Throws: `Errno` of open(2); the previous directory then stays pinned.
    public func repin() throws(Errno) {
        let directory = try Directory(path: path)
        let found = DirectoryIdentity(try FileStatus(of: directory.rawValue))
        known.withLock { $0 = found }
    }
}
