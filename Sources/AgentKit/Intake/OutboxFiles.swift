import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// The files of the outbox, looked up by path below it and never beyond.
///
/// The directory is opened anew for each look-up: it may be unmounted at any time, and come back. Until it does, every
/// look-up throws `.staleNFSFileHandle`.
struct OutboxFiles: Sendable {
    /// The outbox.
    let outbox: PinnedDirectory

    /// Absolute path of the outbox, which may itself be a symbolic link.
    var root: String { outbox.path }

    init(_ outbox: PinnedDirectory) {
        self.outbox = outbox
    }

    init(root: String) {
        self.init(PinnedDirectory(path: root))
    }

    /// What stands under a path; a symbolic link is described, not followed.
    func status(of path: RelativePath) throws(Errno) -> FileStatus {
        try outbox.open().status(path.bytes)
    }

    /// What tells the outbox from another directory over restarts, nil where it is not there; device numbers change when
    /// a medium comes back.
    var identity: [UInt8]? {
        guard let status = try? status(of: .root) else { return nil }
        return Array("\(status.inode) \(status.born)".utf8)
    }

    /// What stands under a path, as far as that can be told.
    func look(at path: RelativePath) -> FileLook {
        do throws(Errno) {
            let status = try status(of: path)
            let kind: FileLook.Kind =
                switch status.kind {
                case .regular: .regular
                case .directory: .directory
                case .symbolicLink, .fifo, .socket, .device: .other
                }
            return .there(kind, FileIdentity(status))
        } catch {
            let isGone = [.noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels].contains(error)
            return isGone ? .nothing : .unknown
        }
    }

    /// Whether no file bears a name any more, as far as that can be told: a directory in its place is another thing.
    func isGone(_ path: RelativePath) -> Bool { look(at: path).isGone }

    /// What is below a directory and no directory itself, as far as it can be listed.
    ///
    /// - Parameter most: more than so many names are not looked at.
    func names(below directory: RelativePath, atMost most: Int) -> [RelativePath] {
        guard let outbox = try? outbox.open() else { return [] }
        var found: [RelativePath] = []
        var directories = [directory]
        var seen = 0
        while let directory = directories.popLast(), seen < most {
            for entry in (try? outbox.directory(directory.bytes).entries()) ?? [] where seen < most {
                seen += 1
                let path = directory.appending(entry.name)
                if (try? outbox.status(path.bytes))?.kind == .directory {
                    directories.append(path)
                } else {
                    found.append(path)
                }
            }
        }
        return found
    }

    /// Opens a regular file for reading.
    ///
    /// - Throws: `Errno`; `.invalidArgument` when something else bears the name.
    func open(_ path: RelativePath) throws(Errno) -> (file: SharedDescriptor, status: FileStatus) {
        let directory = try outbox.open()
        // Looked at before it is opened: opening a device may already do something.
        guard try directory.status(path.bytes).kind == .regular else { throw .invalidArgument }
        let file = SharedDescriptor(try directory.open(path.bytes, flags: O_RDONLY | O_NOFOLLOW))
        let status = try FileStatus(of: file.rawValue)
        guard status.kind == .regular else { throw .invalidArgument }
        return (file, status)
    }
}

extension FileIdentity {
    /// The identity of a file that was looked at.
    init(_ status: FileStatus) {
        self.init(
            device: status.device, inode: status.inode, size: status.size, modified: status.modified,
            changed: status.changed, born: status.born)
    }
}
