import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// Looks through the tree of sidecars for those that belong to no file.
///
/// A sidecar beside the file it is named after is never read: a scan of many files costs listing their directories.
struct SidecarSweep {
    let files: OutboxFiles
    let store: SidecarStore
    let rules: IntakeRules

    /// Everything that belongs to no file of the outbox.
    ///
    /// - Parameter away: directories whose file system is not mounted: nothing is said of what is below them.
    func strays(away: Set<RelativePath> = []) -> [StraySidecar] {
        guard let outbox = try? files.outbox.open(), let tree = try? store.existing(.root) else { return [] }
        let isBeside = store.standBesideFiles
        var found: [StraySidecar] = []
        var directories = [RelativePath.root]
        while let path = directories.popLast() {
            if away.contains(where: path.isWithin) { continue }
            guard let directory = try? tree.directory(path.bytes), let entries = try? directory.entries() else {
                continue
            }
            var sidecars: [[UInt8]] = []
            for entry in entries {
                let child = path.appending(entry.name)
                if entry.isDirectory ?? ((try? directory.status(entry.name))?.kind == .directory) {
                    if !rules.isIgnored(child) { directories.append(child) }
                } else {
                    sidecars.append(entry.name)
                }
            }
            guard let names = isBeside ? sidecars : Self.names(in: path, of: outbox) else { continue }
            let listing = SidecarListing(sidecars: sidecars, files: names)
            found += listing.temporaries.map { StraySidecar(directory: path, name: $0) }
            found += listing.unexplained.compactMap { stray(named: $0, in: directory, at: path, listing) }
        }
        return found
    }

    /// The names in a directory of the outbox, none where it is not there; nil where nobody can tell.
    private static func names(in path: RelativePath, of outbox: Directory) -> [[UInt8]]? {
        do throws(Errno) {
            return try outbox.directory(path.bytes).entries().map(\.name)
        } catch {
            return [.noSuchFileOrDirectory, .notDirectory].contains(error) ? [] : nil
        }
    }

    /// Reads a sidecar that no name explains.
    ///
    /// - Returns: nil where the file is foreign, or belongs to a file after all.
    private func stray(
        named name: [UInt8], in directory: Directory, at path: RelativePath, _ listing: SidecarListing
    ) -> StraySidecar? {
        guard let (subject, word) = SidecarStore.owner(of: name, in: directory, at: path) else { return nil }
        guard case .file(let file) = subject else {
            return listing.holds(Array("source.toml".utf8))
                ? nil : StraySidecar(directory: path, name: name, subject: subject)
        }
        if listing.holds(Array(file.name)) { return nil }
        let isUnfinished = word.path == file && word.fileState?.isFinal == false
        return StraySidecar(directory: path, name: name, subject: subject, isUnfinished: isUnfinished)
    }

    /// Every sidecar and temporary file of ours in another tree, where `sidecars.directory` was once, or was not set.
    ///
    /// Only sidecars that name the very path they stand for count: anything else may be another outbox's.
    static func all(below root: String, except other: String) -> [StraySidecar] {
        guard let tree = try? Directory(path: root) else { return [] }
        let spared = try? FileStatus(path: other)
        var found: [StraySidecar] = []
        var directories = [RelativePath.root]
        while let path = directories.popLast() {
            guard let directory = try? tree.directory(path.bytes), let entries = try? directory.entries() else {
                continue
            }
            if let spared, let status = try? directory.status(), status.inode == spared.inode,
                status.device == spared.device
            {
                continue
            }
            for entry in entries {
                if entry.isDirectory ?? ((try? directory.status(entry.name))?.kind == .directory) {
                    directories.append(path.appending(entry.name))
                } else if SidecarName.isTemporary(entry.name) {
                    found.append(StraySidecar(directory: path, name: entry.name))
                } else if SidecarName.isSidecar(entry.name),
                    let (subject, word) = SidecarStore.owner(of: entry.name, in: directory, at: path)
                {
                    let isOurs = if case .file(let file) = subject { word.path == file } else { word.path == path }
                    if isOurs { found.append(StraySidecar(directory: path, name: entry.name, subject: subject)) }
                }
            }
        }
        return found
    }
}
