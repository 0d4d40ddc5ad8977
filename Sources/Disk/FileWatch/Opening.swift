import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// The kernel calls that open, watch and list a directory: one call for a file system that may not answer.
struct Opening: Sendable {
    /// What the calls returned.
    struct Opened: Sendable {
        var directory: Directory
        var status: FileStatus
        /// The watch; nil if none was wanted.
        var watch: Result<Int32, Errno>?
        /// The file system, if a watch was wanted.
        var type: FileSystemType?
        /// The names; nil if the watch already reported all changes.
        var names: Result<NameList, Errno>?
    }

    let isRoot: Bool
    /// The watch with which no listing is needed.
    let sufficient: Int32?
    let kernel: Kernel
    let isPrivate: @Sendable (FileStatus) -> Bool
    /// The queue of the watch; nil for no watch.
    let queue: Result<InotifyQueue, Errno>?

    /// Makes the calls. Watches the directory before it is listed, so that no change is missed in between.
    ///
    /// - Returns: nil if the directory is private.
    /// - Throws: `Errno` if the directory can't be opened.
    func open(
        _ path: RelativePath, below root: Directory, closer: SharedDescriptor.Closer?
    ) throws(Errno) -> Opened? {
        let directory = try root.directory(path.bytes, closer: closer)
        let status = try FileStatus(of: directory.rawValue)
        if !isRoot, isPrivate(status) { return nil }
        var opened = Opened(directory: directory, status: status)
        if let queue {
            do throws(Errno) {
                opened.watch = .success(try kernel.watch(try queue.get(), directory, isRoot))
            } catch {
                opened.watch = .failure(error)
            }
            opened.type = kernel.fileSystem(directory.rawValue)
        }
        if let sufficient, case .success(sufficient) = opened.watch { return opened }
        do throws(Errno) {
            opened.names = .success(try NameList(of: directory))
        } catch {
            opened.names = .failure(error)
        }
        return opened
    }
}
