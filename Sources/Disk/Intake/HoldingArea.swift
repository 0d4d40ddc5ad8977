import CLinux
import Glibc
package import LinuxSystem
package import SystemPackage
package import UploadCore

/// A directory in the outbox for a last check of files before the agent moves or deletes them. Other programs can't
/// find the file by its old name there, so exactly the checked file leaves.
///
/// A file keeps its relative path below this directory. Files that a kill leaves here return to their old place.
///
/// Other users may be able to write to the outbox. Every directory that receives a file must therefore be trusted.
/// Paths are opened part by part without following symbolic links, so that nobody else can replace or delete the
/// files.
package struct HoldingArea: Sendable {
    /// The watch never looks into it.
    static let directory = RelativePath(".outbox-holding") ?? .root

    /// The outbox.
    let root: PinnedDirectory

    package init(root: PinnedDirectory) {
        self.root = root
    }

    /// Returns the path of a file in the holding area.
    package static func place(of path: RelativePath) -> RelativePath { directory.appending(path.bytes) }

    /// Moves a file into the holding area, if it has this identity and nobody writes to it.
    ///
    /// - Returns: whether the file is held now. If not, it is back at its path.
    /// - Throws: `Errno` if the file can't be moved.
    package func take(_ path: RelativePath, _ identity: FileIdentity) throws(Errno) -> Bool {
        let outbox = try root.open()
        guard let status = try Self.status(of: path, in: outbox), FileIdentity(status) == identity else { return false }
        // A kill may leave another file with this name in the holding area.
        _ = try putBack(path)
        let area = try makeArea(in: outbox)
        try area.createDirectories(path.parent.bytes, mode: 0o700, isTrusted: try trust(in: outbox))
        try Self.move(path, in: outbox, to: path, in: area)
        do {
            let status = try Self.status(of: path, in: area).map(FileIdentity.init)
            if let status, identity.isSameFile(as: status), try !Self.hasWriter(path, in: area) { return true }
        } catch {
            _ = try putBack(path)
            throw error
        }
        _ = try putBack(path)
        return false
    }

    /// Moves a file back to its path, or to the next free name if another file has taken the path.
    ///
    /// - Returns: the file's path; `nil` if no such file is held.
    /// - Throws: `Errno` if the file can't be moved.
    package func putBack(_ path: RelativePath) throws(Errno) -> RelativePath? {
        let outbox = try root.open()
        guard let area = try area(in: outbox), try Self.status(of: path, in: area) != nil else { return nil }
        try outbox.createDirectories(path.parent.bytes)
        for copy in 1...Self.copies {
            let name = path.copy(copy)
            do {
                try Self.move(path, in: area, to: name, in: outbox)
                tidy(path, in: area, outbox)
                return name
            } catch Errno.fileExists {}
        }
        throw .fileExists
    }

    /// Moves a held file to its final place.
    ///
    /// - Throws: `Errno`; `.fileExists` if the target exists, `.notPermitted` if a directory of the target path
    ///   belongs to another user.
    package func release(_ path: RelativePath, to target: RelativePath) throws(Errno) {
        let outbox = try root.open()
        guard let area = try area(in: outbox) else { throw .noSuchFileOrDirectory }
        try makeDirectories(above: target, for: try area.status(path.bytes), in: outbox)
        try Self.move(path, in: area, to: target, in: outbox)
        tidy(path, in: area, outbox)
    }

    /// Deletes a held file.
    ///
    /// - Throws: `Errno` of unlinkat(2).
    package func delete(_ path: RelativePath) throws(Errno) {
        let outbox = try root.open()
        guard let area = try area(in: outbox) else { throw .noSuchFileOrDirectory }
        try area.directory(path.parent.bytes).unlink(Array(path.name))
        tidy(path, in: area, outbox)
    }

    /// Moves a small file within the outbox without checking it again.
    ///
    /// - Throws: `Errno`; `.fileExists` if the target exists, `.notPermitted` if a directory of the target path
    ///   belongs to another user.
    package func move(_ path: RelativePath, to target: RelativePath) throws(Errno) {
        let outbox = try root.open()
        try makeDirectories(above: target, for: try outbox.status(path.bytes), in: outbox)
        try Self.move(path, in: outbox, to: target, in: outbox)
    }

    /// Removes a small file without checking it again.
    ///
    /// - Throws: `Errno` of unlinkat(2).
    package func remove(_ path: RelativePath) throws(Errno) {
        try root.open().directory(path.parent.bytes).unlink(Array(path.name))
    }

    /// Returns the first free name for a file.
    ///
    /// - Parameter reserved: names that other files are about to take.
    package func freeName(
        for path: RelativePath, except reserved: Set<RelativePath> = []
    ) throws(Errno) -> RelativePath {
        let outbox = try root.open()
        for copy in 1...Self.copies {
            let name = path.copy(copy)
            if !reserved.contains(name), try Self.status(of: name, in: outbox) == nil { return name }
        }
        throw .fileExists
    }

    /// Moves all files back to their paths, except those being checked.
    ///
    /// - Returns: the paths of the files, and the failures.
    package func recover(except held: Set<RelativePath>) -> (files: [RelativePath], failures: [(RelativePath, Errno)]) {
        var files: [RelativePath] = []
        var failures: [(RelativePath, Errno)] = []
        for path in content() where !held.contains(path) {
            do throws(Errno) {
                if let name = try putBack(path) { files.append(name) }
            } catch {
                failures.append((path, error))
            }
        }
        return (files, failures)
    }

    /// Returns why files can't leave the outbox, and what to do; `nil` if there is no obstacle.
    ///
    /// - Parameter target: the final place of a file; `nil` if the file is deleted.
    package func obstacle(to target: RelativePath?) -> String? {
        guard let outbox = try? root.open(), let trust = try? trust(in: outbox) else { return nil }
        for directory in [Self.directory, target?.parent].compactMap({ $0 }) {
            let way =
                directory == Self.directory ? "remove it" : "remove it, or set intake.move_to to another directory"
            var path = RelativePath.root
            for name in directory.parts {
                path = path.appending(name)
                guard let status = try? outbox.status(path.bytes) else { break }
                guard status.kind == .directory else { return "\(path) is not a directory; \(way)" }
                guard trust(status) else {
                    return "\(path) belongs to another user (uid \(status.owner)), who could delete files moved there; "
                        + way
                }
            }
        }
        return nil
    }

    /// Lists the held files by their paths in the outbox.
    private func content() -> [RelativePath] {
        guard let outbox = try? root.open(), let area = try? area(in: outbox) else { return [] }
        var found: [RelativePath] = []
        var directories = [RelativePath.root]
        while let directory = directories.popLast() {
            for entry in (try? area.directory(directory.bytes).entries()) ?? [] {
                let path = directory.appending(entry.name)
                if (try? area.status(path.bytes))?.kind == .directory {
                    directories.append(path)
                } else {
                    found.append(path)
                }
            }
        }
        return found
    }

    private static let copies = 10_000

    /// Opens the holding area. Creates a missing one. Only its owner has access.
    private func makeArea(in outbox: Directory) throws(Errno) -> Directory {
        let area = try outbox.createDirectories(
            Self.directory.bytes, mode: 0o700, isTrusted: try trust(in: outbox))
        // File systems without permissions, as on many memory cards, can't set the mode and don't need it.
        _ = fchmod(area.rawValue, 0o700)
        return area
    }

    /// Opens the holding area; `nil` if it does not exist.
    private func area(in outbox: Directory) throws(Errno) -> Directory? {
        let area: Directory
        do throws(Errno) {
            area = try outbox.directory(Self.directory.bytes)
        } catch {
            if error == .noSuchFileOrDirectory { return nil }
            throw error
        }
        let trust = try trust(in: outbox)
        guard trust(try FileStatus(of: area.rawValue)) else { throw .notPermitted }
        return area
    }

    /// Creates the parent directories of a target. Existing ones must be trusted or belong to the file's owner.
    private func makeDirectories(
        above target: RelativePath, for file: FileStatus, in outbox: Directory
    ) throws(Errno) {
        let trust = try trust(in: outbox)
        try outbox.createDirectories(target.parent.bytes, isTrusted: { trust($0) || $0.owner == file.owner })
    }

    /// Whether only trusted users can replace or delete files in a directory, judged by its owner: the agent's user,
    /// the owner of the outbox, or root.
    private func trust(in outbox: Directory) throws(Errno) -> (FileStatus) -> Bool {
        let owners = [geteuid(), try FileStatus(of: outbox.rawValue).owner, 0]
        return { owners.contains($0.owner) }
    }

    /// Removes the empty parent directories of a file that was held.
    private func tidy(_ path: RelativePath, in area: Directory, _ outbox: Directory) {
        var directory = path.parent
        while !directory.bytes.isEmpty {
            do { try area.removeDirectory(directory.bytes) } catch { return }
            directory = directory.parent
        }
        try? outbox.removeDirectory(Self.directory.bytes)
    }

    private static func status(of path: RelativePath, in directory: Directory) throws(Errno) -> FileStatus? {
        do {
            return try directory.status(path.bytes)
        } catch Errno.noSuchFileOrDirectory, Errno.notDirectory {
            return nil
        }
    }

    /// Opens both parent directories without following symbolic links, then uses file names alone.
    private static func move(
        _ old: RelativePath, in first: Directory, to new: RelativePath, in second: Directory
    ) throws(Errno) {
        let source = try first.directory(old.parent.bytes)
        let target = try second.directory(new.parent.bytes)
        try source.moveWithoutReplacing(Array(old.name), to: Array(new.name), in: target)
    }

    /// Whether a process has the file open or mapped for writing (man 2 fcntl, "Leases"). If the file system can't
    /// tell, the digests have to detect changes.
    private static func hasWriter(_ path: RelativePath, in outbox: Directory) throws(Errno) -> Bool {
        let file = try outbox.open(path.bytes, flags: O_RDONLY | O_NOFOLLOW)
        // A writer that opens the file meanwhile raises this signal, which is ignored by default.
        _ = outbox_fcntl(file.rawValue, outbox_f_setsig, SIGURG)
        if outbox_set_lease(file.rawValue, outbox_f_rdlck) == 0 {
            _ = outbox_set_lease(file.rawValue, outbox_f_unlck)
            return false
        }
        return errno == EAGAIN
    }
}
