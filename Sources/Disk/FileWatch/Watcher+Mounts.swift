import CLinux
import Glibc
import LinuxSystem
import UploadCore

// Mounting and unmounting of file systems below the outbox.
extension Watcher {
    /// Handles mounts that appeared and disappeared.
    ///
    /// Costs one poll(2) while mounts stay the same, so callers run it before reporting any file as gone.
    func takeMounts(below root: Directory) {
        if monitor.isChanged() { mountsMayHaveChanged = true }
        guard mountsMayHaveChanged, let all = try? monitor.mounts(below: root) else { return }
        mountsMayHaveChanged = false
        let table = all.filter { !isHidden($0.key) }
        let changes = mounts.update(table) { [places] path, mount in
            // A file system that does not answer is asked again when it does.
            let answer = try? places.call(path, "identifying") { _ in
                MountBook.Answer.known(Self.identify(path, mount, below: root))
            }
            return answer ?? .unanswered
        }
        for change in changes {
            switch change {
            case .lost(let path):
                tell(.mountLost(path))
                settler.remove(path, isDirectory: true)
            case .mounted(let path, let isSame): tell(.mounted(path, isSame: isSame))
            case .remounted: break
            }
            exchange(change.path)
        }
    }

    /// Whether the path or a directory above it is ignored.
    private func isHidden(_ path: RelativePath) -> Bool {
        var place = path
        while place != .root {
            if options.isIgnored(place, true) { return true }
            place = place.parent
        }
        return false
    }

    private static func identify(
        _ path: RelativePath, _ mount: MountTable.Mount, below root: Directory
    ) -> MountBook.Identity? {
        var raw = statfs()
        guard let directory = try? root.directory(path.bytes), let status = try? FileStatus(of: directory.rawValue),
            (try? retryingOnInterrupt { fstatfs(directory.rawValue, &raw) }) != nil
        else { return nil }
        let (low, high) = (raw.f_fsid.__val.0, raw.f_fsid.__val.1)
        let number = UInt64(UInt32(bitPattern: high)) << 32 | UInt64(UInt32(bitPattern: low))
        // A file system with an id of its own needs no device name, which may change between mounts.
        return MountBook.Identity(
            fileSystem: number, source: number == 0 ? mount.source : [], inode: status.inode, born: status.born)
    }

    /// Discards the known subtree of a path and queues a listing, because another directory is mounted there.
    private func exchange(_ path: RelativePath) {
        guard let id = tree.find(path) else { return }
        for child in tree.children(of: id) { removeDirectory(child.id) }
        scans.push(id, .verify)
    }
}
