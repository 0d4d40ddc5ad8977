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

    /// As much of a file as tells whether it is one of our sidecars: its head, with a path of any length.
    private static let head = 1 << 16
    /// More than any sidecar has, even that of a source whose files have the longest names.
    private static let longest = 1 << 24

    /// Writes the sidecar of a file or source.
    ///
    /// - Parameters:
    ///   - text: its whole content.
    ///   - subject: what it is about.
    ///   - known: the name it was written under before in this run; nil when it was not.
    /// - Returns: the name it has now.
    /// - Throws: `Errno`; `.noSuchFileOrDirectory` when its directory is gone.
    func write(_ text: [UInt8], for subject: SidecarSubject, known: [UInt8]?) throws(Errno) -> [UInt8] {
        let directory = try open(subject.directory)
        // Always the same name for the same subject: what a kill leaves behind goes with the next write.
        let temporary = SidecarName.temporary(for: subject.name)
        let descriptor = try create(temporary, in: directory)
        do {
            try writeAll(text, to: descriptor.rawValue)
            return try place(temporary, in: directory, for: subject, known: known)
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

    /// Whether the sidecar of a file or source holds some pieces of text; how a final one is told from an older one after
    /// a crash.
    func sidecar(of subject: SidecarSubject, holds pieces: [String]) -> Bool {
        guard let directory = try? open(subject.directory), let name = find(subject, in: directory),
            let content = Self.content(of: name, in: directory, atMost: Self.longest)
        else { return false }
        let text = String(decoding: content, as: UTF8.self)
        return pieces.allSatisfy(text.contains)
    }

    /// What a file that may be a sidecar begins with; nil where it can't be one.
    private static func content(of name: [UInt8], in directory: Directory, atMost limit: Int) -> [UInt8]? {
        guard let descriptor = try? directory.open(name, flags: O_RDONLY | O_NOFOLLOW),
            let status = try? FileStatus(of: descriptor.rawValue), status.kind == .regular
        else { return nil }
        let file = SharedDescriptor(descriptor)
        var content = [UInt8](repeating: 0, count: Int(min(status.size, UInt64(limit))))
        let count = content.withUnsafeMutableBytes { (try? file.read(into: $0, at: 0)) ?? 0 }
        return Array(content.prefix(count))
    }

    private func open(_ path: RelativePath) throws(Errno) -> Directory {
        let top = try top()
        if path.bytes.isEmpty { return top }
        if makesDirectories { try top.createDirectories(path.bytes) }
        return try top.directory(path.bytes)
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
        _ temporary: [UInt8], in directory: Directory, for subject: SidecarSubject, known: [UInt8]?
    ) throws(Errno) -> [UInt8] {
        if let name = known ?? (subject.mayHaveGivenWay ? find(subject, in: directory) : nil) {
            try directory.rename(temporary, to: name)
            return name
        }
        let usual = SidecarName.name(for: subject.name)
        for name in Self.names(of: subject) {
            do {
                try directory.moveWithoutReplacing(temporary, to: name, in: directory)
                return name
            } catch Errno.fileExists {
                if name == usual, let other = subject.displaced, isSidecar(name, of: other, in: directory) {
                    try giveWay(of: other, in: directory)
                } else if !isSidecar(name, of: subject, in: directory) {
                    continue
                }
                try directory.rename(temporary, to: name)
                return name
            }
        }
        throw .fileExists
    }

    /// Gives a sidecar that has its usual name the next free one.
    private func giveWay(of subject: SidecarSubject, in directory: Directory) throws(Errno) {
        let usual = SidecarName.name(for: subject.name)
        for next in Self.names(of: subject).dropFirst() {
            do {
                return try directory.moveWithoutReplacing(usual, to: next, in: directory)
            } catch Errno.fileExists {
                if isSidecar(next, of: subject, in: directory) { return try directory.rename(usual, to: next) }
            }
        }
        throw .fileExists
    }

    /// The names a sidecar may have, the usual one first.
    private static func names(of subject: SidecarSubject) -> some Sequence<[UInt8]> {
        (1...attempts).lazy.map { SidecarName.name(for: subject.name, copy: $0) }
    }

    /// The name under which the sidecar of a file or source stands; nil where there is none.
    private func find(_ subject: SidecarSubject, in directory: Directory) -> [UInt8]? {
        var mayBeFree = subject.mayHaveGivenWay
        for name in Self.names(of: subject) {
            if isSidecar(name, of: subject, in: directory) { return name }
            guard mayBeFree || (try? directory.status(name)) != nil else { return nil }
            mayBeFree = false
        }
        return nil
    }

    /// Whether a file is a sidecar that this program wrote for a file or source, as its first bytes tell.
    private func isSidecar(_ name: [UInt8], of subject: SidecarSubject, in directory: Directory) -> Bool {
        Self.content(of: name, in: directory, atMost: Self.head).map(subject.owns) ?? false
    }

    /// Removes the sidecar of a file or source; one that is not there, or not ours, is no error.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    func remove(for subject: SidecarSubject, known: [UInt8]?) -> Bool {
        guard let directory = try? open(subject.directory) else { return false }
        if let known, isSidecar(known, of: subject, in: directory) { return (try? directory.unlink(known)) != nil }
        return find(subject, in: directory).map { (try? directory.unlink($0)) != nil } ?? false
    }
}
