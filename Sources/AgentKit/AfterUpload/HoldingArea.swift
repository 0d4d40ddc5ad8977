import CLinux
import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// A directory in the outbox where a file is looked at once more before it is moved or deleted for good: by its old
/// name no other program finds it there, so what was looked at is what goes.
///
/// A file keeps its path below this directory; whatever a kill leaves here goes back to where it was.
///
/// Other users may write to the outbox too. So every directory that takes a file in must be ours, and is opened part by
/// part without following a symbolic link: nobody else can replace or delete what was put there.
struct HoldingArea: Sendable {
    /// Never watched.
    static let directory = RelativePath(".outbox-holding") ?? .root

    /// The outbox.
    let root: PinnedDirectory

    /// Where a file is held.
    static func place(of path: RelativePath) -> RelativePath { directory.appending(path.bytes) }

    /// Takes a file out of the outbox, if it is the one that is meant and nobody writes to it.
    ///
    /// - Returns: whether it was; where it was not, it is back under its name.
    /// - Throws: `Errno` where it can't be moved.
    func take(_ path: RelativePath, _ identity: FileIdentity) throws(Errno) -> Bool {
        let outbox = try root.open()
        guard let status = try Self.status(of: path, in: outbox), FileIdentity(status) == identity else { return false }
        // A kill may have left another file of the name.
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

    /// Puts a file back under its name, or under the next free one where another file bears that by now.
    ///
    /// - Returns: its name; nil where it is not held.
    /// - Throws: `Errno` where it can't be moved.
    func putBack(_ path: RelativePath) throws(Errno) -> RelativePath? {
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

    /// Moves a file that is held to its last place.
    ///
    /// - Throws: `Errno`; `.fileExists` where the name is taken, `.notPermitted` where a directory on the way to it
    ///   belongs to another user.
    func release(_ path: RelativePath, to target: RelativePath) throws(Errno) {
        let outbox = try root.open()
        guard let area = try area(in: outbox) else { throw .noSuchFileOrDirectory }
        try makeDirectories(above: target, for: try area.status(path.bytes), in: outbox)
        try Self.move(path, in: area, to: target, in: outbox)
        tidy(path, in: area, outbox)
    }

    /// Deletes a file that is held.
    ///
    /// - Throws: `Errno` of unlinkat(2).
    func delete(_ path: RelativePath) throws(Errno) {
        let outbox = try root.open()
        guard let area = try area(in: outbox) else { throw .noSuchFileOrDirectory }
        try area.directory(path.parent.bytes).unlink(Array(path.name))
        tidy(path, in: area, outbox)
    }

    /// Moves a small file within the outbox that nobody need look at again.
    ///
    /// - Throws: `Errno`; `.fileExists` where the name is taken, `.notPermitted` where a directory on the way to it
    ///   belongs to another user.
    func move(_ path: RelativePath, to target: RelativePath) throws(Errno) {
        let outbox = try root.open()
        try makeDirectories(above: target, for: try outbox.status(path.bytes), in: outbox)
        try Self.move(path, in: outbox, to: target, in: outbox)
    }

    /// Removes a small file that nobody need look at again.
    ///
    /// - Throws: `Errno` of unlinkat(2).
    func remove(_ path: RelativePath) throws(Errno) {
        try root.open().directory(path.parent.bytes).unlink(Array(path.name))
    }

    /// The first name for a file that is not taken.
    func freeName(for path: RelativePath) throws(Errno) -> RelativePath {
        let outbox = try root.open()
        for copy in 1...Self.copies {
            let name = path.copy(copy)
            if try Self.status(of: name, in: outbox) == nil { return name }
        }
        throw .fileExists
    }

    /// Puts everything back that stands here and is not being looked at.
    ///
    /// - Returns: the names of the files, and what can't be put back.
    func recover(except held: Set<RelativePath>) -> (files: [RelativePath], failures: [(RelativePath, Errno)]) {
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

    /// What stands in the way of taking files out of the outbox, and what to do; nil where nothing does.
    ///
    /// - Parameter target: where a file goes in the end; nil where it is deleted.
    func obstacle(to target: RelativePath?) -> String? {
        guard let outbox = try? root.open(), let trust = try? trust(in: outbox) else { return nil }
        for directory in [Self.directory, target?.parent].compactMap({ $0 }) {
            let way =
                directory == Self.directory ? "remove it" : "remove it, or set intake.move_to to another directory"
            var path = RelativePath.root
            for name in directory.parts {
                path = path.appending(name)
                guard let status = try? outbox.status(path.bytes) else { break }
                guard status.kind == .directory else { return "\(path) is no directory; \(way)" }
                guard trust(status) else {
                    return "\(path) belongs to another user (uid \(status.owner)), who could delete what is put there; "
                        + way
                }
            }
        }
        return nil
    }

    /// The files that are held, by their names in the outbox.
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

    /// Opens the holding area, and makes it where it is missing; only its owner gets in.
    private func makeArea(in outbox: Directory) throws(Errno) -> Directory {
        let area = try outbox.createDirectories(
            Self.directory.bytes, mode: 0o700, isTrusted: try trust(in: outbox))
        // A file system without permissions, as that of many a card, can't and need not.
        _ = fchmod(area.rawValue, 0o700)
        return area
    }

    /// Opens the holding area; nil where there is none.
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

    /// Makes the directories that a file is moved to. Besides those that are ours, the file's owner may have made them.
    private func makeDirectories(
        above target: RelativePath, for file: FileStatus, in outbox: Directory
    ) throws(Errno) {
        let trust = try trust(in: outbox)
        try outbox.createDirectories(target.parent.bytes, isTrusted: { trust($0) || $0.owner == file.owner })
    }

    /// Whether nobody but us can replace or delete what stands in a directory, as far as its owner tells. The owner of
    /// the outbox could in any case.
    private func trust(in outbox: Directory) throws(Errno) -> (FileStatus) -> Bool {
        let owners = [geteuid(), try FileStatus(of: outbox.rawValue).owner, 0]
        return { owners.contains($0.owner) }
    }

    /// Removes the directories that a held file needed, as far as they are empty.
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

    /// Both directories are opened without following a symbolic link, then names alone are used.
    private static func move(
        _ old: RelativePath, in first: Directory, to new: RelativePath, in second: Directory
    ) throws(Errno) {
        let source = try first.directory(old.parent.bytes)
        let target = try second.directory(new.parent.bytes)
        try source.moveWithoutReplacing(Array(old.name), to: Array(new.name), in: target)
    }

    /// Whether somebody has the file open, or mapped, for writing (man 2 fcntl, "Leases"); where that can't be known,
    /// the digests that follow must do.
    private static func hasWriter(_ path: RelativePath, in outbox: Directory) throws(Errno) -> Bool {
        let file = try outbox.open(path.bytes, flags: O_RDONLY | O_NOFOLLOW)
        // A writer that comes meanwhile raises a signal: one that is ignored by default.
        _ = outbox_fcntl(file.rawValue, outbox_f_setsig, SIGURG)
        if outbox_set_lease(file.rawValue, outbox_f_rdlck) == 0 {
            _ = outbox_set_lease(file.rawValue, outbox_f_unlck)
            return false
        }
        return errno == EAGAIN
    }
}
