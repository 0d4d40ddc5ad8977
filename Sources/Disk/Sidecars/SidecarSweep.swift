import Glibc
package import Intake
import LinuxSystem
import SystemPackage
package import UploadCore

/// Searches the tree of sidecars for strays, which belong to no file, and for files without a sidecar.
///
/// If a sidecar's name matches a file in the directory, the sidecar is not read. So a sweep costs little more than
/// listing directories.
package struct SidecarSweep: Sendable {
    package let files: OutboxFiles
    package let store: SidecarStore
    let rules: IntakeRules

    package init(files: OutboxFiles, store: SidecarStore, rules: IntakeRules) {
        self.files = files
        self.store = store
        self.rules = rules
    }

    /// What a sweep found.
    package struct Findings: Sendable {
        package var strays: [StraySidecar] = []
        /// Files without a sidecar of the usual name, at most `mostBare`.
        package var bare: [RelativePath] = []
    }

    /// The maximum number of files without a sidecar in one sweep. The next one finds the others.
    private static let mostBare = 10_000

    /// Looks at the whole tree.
    ///
    /// - Parameters:
    ///   - away: directories whose file system is not mounted. They are skipped.
    ///   - wantsSidecar: whether a file should have a sidecar.
    package func findings(
        away: Set<RelativePath> = [], wantsSidecar: (RelativePath) -> Bool = { _ in false }
    ) -> Findings {
        var found = Findings()
        var directories = [RelativePath.root]
        while let path = directories.popLast() {
            if away.contains(where: path.isWithin) { continue }
            // A directory whose file system does not answer is left to a later sweep.
            let answer = try? store.call(path, "sweeping", { self.findings(in: path) })
            guard let here = answer ?? nil else { continue }
            directories += here.directories
            found.strays += here.strays
            for name in here.bare where found.bare.count < Self.mostBare {
                let file = path.appending(name)
                if !rules.isIgnored(file), wantsSidecar(file) { found.bare.append(file) }
            }
        }
        return found
    }

    /// What a sweep found in one directory.
    private struct Here: Sendable {
        var directories: [RelativePath] = []
        var strays: [StraySidecar] = []
        var bare: [[UInt8]] = []
    }

    private func findings(in path: RelativePath) -> Here? {
        guard let directory = try? store.existing(path), let entries = try? directory.entries() else { return nil }
        var here = Here()
        var sidecars: [[UInt8]] = []
        for entry in entries {
            let child = path.appending(entry.name)
            if entry.isDirectory ?? ((try? directory.status(entry.name))?.kind == .directory) {
                if !rules.isIgnored(child) { here.directories.append(child) }
            } else {
                sidecars.append(entry.name)
            }
        }
        guard let names = store.standBesideFiles ? sidecars : names(in: path) else { return here }
        let listing = SidecarListing(sidecars: sidecars, files: names)
        here.strays = listing.temporaries.map { StraySidecar(directory: path, name: $0) }
        here.strays += listing.unexplained.compactMap { stray(named: $0, in: directory, at: path, listing) }
        here.bare = Array(listing.bare)
        return here
    }

    /// Lists the names in a directory of the outbox; empty if the directory does not exist, `nil` if listing fails
    /// otherwise.
    private func names(in path: RelativePath) -> [[UInt8]]? {
        do throws(Errno) {
            return try files.entries(of: path).map(\.name)
        } catch {
            return [.noSuchFileOrDirectory, .notDirectory].contains(error) ? [] : nil
        }
    }

    /// Reads a sidecar whose name matches no file.
    ///
    /// - Returns: `nil` if the file is foreign, or its text names an existing file.
    private func stray(
        named name: [UInt8], in directory: Directory, at path: RelativePath, _ listing: SidecarListing
    ) -> StraySidecar? {
        guard let (subject, word) = SidecarStore.owner(of: name, in: directory, at: path) else { return nil }
        guard case .file(let file) = subject else {
            return StraySidecar(directory: path, name: name, subject: subject)
        }
        if listing.holds(Array(file.name)) { return nil }
        let isUnfinished = word.path == file && word.fileState?.isFinal == false
        return StraySidecar(directory: path, name: name, subject: subject, isUnfinished: isUnfinished)
    }

    /// Returns every sidecar and temporary file of the agent in a former tree, after `sidecars.directory` changed.
    ///
    /// Only sidecars that name exactly their own path count. Others may belong to another outbox.
    package static func all(below root: String, except other: String) -> [StraySidecar] {
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
                } else if SidecarName.isTemporary(entry.name[...]) {
                    found.append(StraySidecar(directory: path, name: entry.name))
                } else if SidecarName.isSidecar(entry.name[...]),
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
