import CLinux
import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

// File systems that are mounted and unmounted below the outbox.
extension Watcher {
    /// Takes note of what was mounted and unmounted.
    ///
    /// It costs one poll(2) while nothing was, so it comes before every word that a file is gone.
    func takeMounts(below root: Directory) {
        if monitor.isChanged() { mountsMayHaveChanged = true }
        guard mountsMayHaveChanged, let all = try? monitor.mounts(below: root) else { return }
        mountsMayHaveChanged = false
        let table = all.filter { !isHidden($0.key) }
        let changes = mounts.update(table) { path, mount in Self.identify(path, mount, below: root) }
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
        // Where the file system has a number of its own, the name of its device may change from time to time.
        return MountBook.Identity(
            fileSystem: number, source: number == 0 ? mount.source : [], inode: status.inode, born: status.born)
    }

    /// Another directory stands at a path now: what is known of the old one's inside is of no more use.
    private func exchange(_ path: RelativePath) {
        guard let id = tree.find(path) else { return }
        for child in tree.children(of: id) { removeDirectory(child.id) }
        scans.push(id, .verify)
    }
}
