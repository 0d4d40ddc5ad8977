import Synchronization
public import SystemPackage

/// A directory that is opened anew by its path for each use, and only while the path leads to the same directory.
///
/// Nothing stays open between two uses, so that the file system can be unmounted. The empty mount point that is left
/// then, or any other directory in its place, is refused.
public final class PinnedDirectory: Sendable {
    /// Absolute path, which may itself be a symbolic link.
    public let path: String
    private let known = Mutex<DirectoryIdentity?>(nil)

    /// A directory that need not be there yet. The first one that ``open()`` finds is the one from then on.
    public init(path: String) {
        self.path = path
    }

    /// Opens the directory.
    ///
    /// - Throws: `Errno` of open(2); `.staleNFSFileHandle` if the path leads elsewhere, or nowhere, since it was opened.
    public func open() throws(Errno) -> Directory {
        let directory: Directory
        do throws(Errno) {
            directory = try Directory(path: path)
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

    /// Accepts the directory that the path leads to now in place of the one before.
    ///
    /// - Throws: `Errno` of open(2); the one before then stays the only one.
    public func repin() throws(Errno) {
        let directory = try Directory(path: path)
        let found = DirectoryIdentity(try FileStatus(of: directory.rawValue))
        known.withLock { $0 = found }
    }
}
