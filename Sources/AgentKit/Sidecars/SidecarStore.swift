import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// Writes, moves and removes sidecar files.
///
/// Each is written to a temporary file and renamed, both relative to the open directory, so a reader never sees half of
/// one. A foreign file that bears the name is left alone.
struct SidecarStore: Sendable {
    /// Root of the tree sidecars stand in: the outbox, or `sidecars.directory`.
    let root: String
    /// Whether directories are made as needed: in a mirror tree, never in the outbox.
    let makesDirectories: Bool

    private static let attempts = 100

    /// Writes the sidecar of a file.
    ///
    /// - Parameters:
    ///   - text: its whole content.
    ///   - path: the file's path.
    ///   - known: the name it was written under before in this run; nil when it was not.
    /// - Returns: the name it has now.
    /// - Throws: `Errno`; `.noSuchFileOrDirectory` when the file's directory is gone.
    func write(_ text: [UInt8], for path: RelativePath, known: [UInt8]?) throws(Errno) -> [UInt8] {
        let directory = try self.directory(of: path)
        // Always the same name for the same file: what a kill leaves behind goes with the next write.
        let temporary = SidecarName.temporary(for: path.name)
        let descriptor = try create(temporary, in: directory)
        do {
            try writeAll(text, to: descriptor.rawValue)
            return try place(temporary, in: directory, for: path, known: known)
        } catch {
            try? directory.unlink(temporary)
            throw error
        }
    }

    private func create(_ name: [UInt8], in directory: Directory) throws(Errno) -> Descriptor {
        let flags = O_WRONLY | O_CREAT | O_EXCL
        do {
            return try directory.open(name, flags: flags, mode: 0o644)
        } catch Errno.fileExists {
            try directory.unlink(name)
            return try directory.open(name, flags: flags, mode: 0o644)
        }
    }

    /// Whether a path's sidecar, under the usual name, holds some pieces of text; how a final one is told from an older
    /// one after a crash.
    func sidecar(of path: RelativePath, holds pieces: [String]) -> Bool {
        guard let directory = try? self.directory(of: path),
            let content = Self.content(of: SidecarName.name(for: path.name), in: directory)
        else { return false }
        let text = String(decoding: content, as: UTF8.self)
        return pieces.allSatisfy(text.contains)
    }

    /// What stands in a file that may be a sidecar; nil where it can't be one.
    private static func content(of name: [UInt8], in directory: Directory) -> [UInt8]? {
        guard let descriptor = try? directory.open(name, flags: O_RDONLY | O_NOFOLLOW),
            let status = try? FileStatus(of: descriptor.rawValue), status.kind == .regular, status.size < 1 << 16
        else { return nil }
        let file = SharedDescriptor(descriptor)
        var content = [UInt8](repeating: 0, count: Int(status.size))
        let count = content.withUnsafeMutableBytes { (try? file.read(into: $0, at: 0)) ?? 0 }
        return Array(content.prefix(count))
    }

    private func directory(of path: RelativePath) throws(Errno) -> Directory {
        let parent = path.parent
        let top = try top()
        if parent.bytes.isEmpty { return top }
        if makesDirectories { try top.createDirectories(parent.bytes) }
        return try top.directory(parent.bytes)
    }

    private func top() throws(Errno) -> Directory {
        do {
            return try Directory(path: root)
        } catch Errno.noSuchFileOrDirectory where makesDirectories {
            try Directory.create(root)
            return try Directory(path: root)
        }
    }

    private func place(
        _ temporary: [UInt8], in directory: Directory, for path: RelativePath, known: [UInt8]?
    ) throws(Errno) -> [UInt8] {
        if let known {
            try directory.rename(temporary, to: known)
            return known
        }
        for copy in 1...Self.attempts {
            let name = SidecarName.name(for: path.name, copy: copy)
            do {
                try directory.renameWithoutReplacing(temporary, to: name)
                return name
            } catch Errno.fileExists {
                guard isOurs(name, in: directory, for: path) else { continue }
                try directory.rename(temporary, to: name)
                return name
            } catch Errno.invalidArgument {
                // A file system that can't rename without replacing.
                try directory.rename(temporary, to: name)
                return name
            }
        }
        throw .fileExists
    }

    /// Whether a file is a sidecar that this program wrote for a path, as its first bytes tell.
    private func isOurs(_ name: [UInt8], in directory: Directory, for path: RelativePath) -> Bool {
        Self.content(of: name, in: directory).map { FileReport.isSidecar($0, of: path) } ?? false
    }

    /// Removes the sidecar of a file; one that is not there, or not ours, is no error.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    func remove(for path: RelativePath, known: [UInt8]?) -> Bool {
        guard let directory = try? self.directory(of: path) else { return false }
        let names = known.map { [$0] } ?? (1...Self.attempts).map { SidecarName.name(for: path.name, copy: $0) }
        for name in names {
            if isOurs(name, in: directory, for: path) { return (try? directory.unlink(name)) != nil }
            guard (try? directory.status(name)) != nil else { return false }
        }
        return false
    }
}
