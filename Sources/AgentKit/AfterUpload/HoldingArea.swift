import CLinux
import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// A directory in the outbox where a file is looked at once more before it is moved or deleted for good: by its old
/// name no other program finds it there, so what was looked at is what goes.
///
/// A file keeps its path below this directory; whatever a kill leaves here goes back to where it was.
struct HoldingArea: Sendable {
    /// Never watched.
    static let directory = RelativePath(".outbox-holding") ?? .root

    /// Absolute path of the outbox.
    let root: String

    /// Where a file is held.
    static func place(of path: RelativePath) -> RelativePath { directory.appending(path.bytes) }

    /// Takes a file out of the outbox, if it is the one that is meant and nobody writes to it.
    ///
    /// - Returns: whether it was; where it was not, it is back under its name.
    /// - Throws: `Errno` where it can't be moved.
    func take(_ path: RelativePath, _ identity: FileIdentity) throws(Errno) -> Bool {
        let outbox = try Directory(path: root)
        guard let status = try Self.status(of: path, in: outbox), FileIdentity(status) == identity else { return false }
        let held = Self.place(of: path)
        if (try? outbox.status(held.bytes)) != nil { _ = try putBack(path) }
        try outbox.createDirectories(Self.directory.bytes)
        _ = fchmodat(outbox.rawValue, ".outbox-holding", 0o700, 0)
        try outbox.createDirectories(held.parent.bytes)
        try Self.move(path, to: held, in: outbox)
        do {
            let status = try Self.status(of: held, in: outbox).map(FileIdentity.init)
            if let status, identity.isSameFile(as: status), try !Self.hasWriter(held, in: outbox) { return true }
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
        let outbox = try Directory(path: root)
        let held = Self.place(of: path)
        guard try Self.status(of: held, in: outbox) != nil else { return nil }
        try outbox.createDirectories(path.parent.bytes)
        for copy in 1...Self.copies {
            let name = path.copy(copy)
            do {
                try Self.move(held, to: name, in: outbox)
                tidy(held, in: outbox)
                return name
            } catch Errno.fileExists {}
        }
        throw .fileExists
    }

    /// Moves a file that is held to its last place.
    ///
    /// - Throws: `Errno`; `.fileExists` where the name is taken.
    func release(_ path: RelativePath, to target: RelativePath) throws(Errno) {
        let outbox = try Directory(path: root)
        try outbox.createDirectories(target.parent.bytes)
        let held = Self.place(of: path)
        try Self.move(held, to: target, in: outbox)
        tidy(held, in: outbox)
    }

    /// Deletes a file that is held.
    ///
    /// - Throws: `Errno` of unlinkat(2).
    func delete(_ path: RelativePath) throws(Errno) {
        let outbox = try Directory(path: root)
        let held = Self.place(of: path)
        try outbox.directory(held.parent.bytes).unlink(Array(held.name))
        tidy(held, in: outbox)
    }

    /// Moves a small file within the outbox that nobody need look at again.
    ///
    /// - Throws: `Errno`; `.fileExists` where the name is taken.
    func move(_ path: RelativePath, to target: RelativePath) throws(Errno) {
        let outbox = try Directory(path: root)
        try outbox.createDirectories(target.parent.bytes)
        try Self.move(path, to: target, in: outbox)
    }

    /// Removes a small file that nobody need look at again.
    ///
    /// - Throws: `Errno` of unlinkat(2).
    func remove(_ path: RelativePath) throws(Errno) {
        try Directory(path: root).directory(path.parent.bytes).unlink(Array(path.name))
    }

    /// The first name for a file that is not taken.
    func freeName(for path: RelativePath) throws(Errno) -> RelativePath {
        let outbox = try Directory(path: root)
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

    /// The files that are held, by their names in the outbox.
    private func content() -> [RelativePath] {
        guard let outbox = try? Directory(path: root) else { return [] }
        var found: [RelativePath] = []
        var directories = [Self.directory]
        while let directory = directories.popLast() {
            for entry in (try? outbox.directory(directory.bytes).entries()) ?? [] {
                let path = directory.appending(entry.name)
                if (try? outbox.status(path.bytes))?.kind == .directory {
                    directories.append(path)
                } else if let old = path.moved(from: Self.directory, to: .root) {
                    found.append(old)
                }
            }
        }
        return found
    }

    private static let copies = 10_000

    /// Removes the directories that a held file needed, as far as they are empty.
    private func tidy(_ held: RelativePath, in outbox: Directory) {
        var directory = held.parent
        while directory.isWithin(Self.directory) {
            do { try outbox.removeDirectory(directory.bytes) } catch { return }
            directory = directory.parent
        }
    }

    private static func status(of path: RelativePath, in outbox: Directory) throws(Errno) -> FileStatus? {
        do {
            return try outbox.status(path.bytes)
        } catch Errno.noSuchFileOrDirectory, Errno.notDirectory {
            return nil
        }
    }

    /// Both directories are opened without following a symbolic link, then names alone are used.
    private static func move(_ old: RelativePath, to new: RelativePath, in outbox: Directory) throws(Errno) {
        let source = try outbox.directory(old.parent.bytes)
        let target = try outbox.directory(new.parent.bytes)
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
