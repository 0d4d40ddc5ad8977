import Glibc
import LinuxSystem
import SystemPackage
import UploadCore

/// Writes, moves and removes sidecar files.
///
/// Each is written to a temporary file and renamed, both relative to the open directory, so a reader never sees half of
/// one. A foreign file that bears the name is left alone.
struct SidecarStore: Sendable {
    /// The tree that sidecars stand in.
    private enum Tree: Sendable {
        /// The outbox, where no directory is made.
        case outbox(PinnedDirectory)
        /// `sidecars.directory`, where directories are made as needed.
        case mirror(String)
    }

    private let tree: Tree

    /// Whether sidecars stand in the outbox.
    var standBesideFiles: Bool { if case .outbox = tree { true } else { false } }

    /// Root of the tree, where sidecars have one of their own.
    var mirrorRoot: String? { if case .mirror(let root) = tree { root } else { nil } }

    /// Sidecars beside the files of an outbox.
    init(beside outbox: PinnedDirectory) {
        tree = .outbox(outbox)
    }

    /// Sidecars in a tree of their own.
    ///
    /// - Parameter mirror: absolute path of its root, which need not be there yet.
    init(mirror: String) {
        tree = .mirror(mirror)
    }

    /// Sidecars where the configuration wants them.
    init(_ configuration: Configuration.Sidecars, outbox: PinnedDirectory) {
        tree = configuration.directory.map(Tree.mirror) ?? .outbox(outbox)
    }

    private static let attempts = 100

    /// As much of a file as tells whether it is one of our sidecars: its head, with a path of any length.
    static let head = 1 << 16
    /// More than any sidecar has, even that of a source whose files have the longest names.
    static let longest = 1 << 24

    /// Writes the sidecar of a file or source.
    ///
    /// - Parameters:
    ///   - text: its whole content.
    ///   - subject: what it is about.
    ///   - known: the name it was written under before in this run; nil when it was not.
    /// - Returns: the name it has now.
    /// - Throws: `Errno`; `.noSuchFileOrDirectory` when its directory is gone, `.staleNFSFileHandle` when the outbox is.
    func write(_ text: [UInt8], for subject: SidecarSubject, known: [UInt8]?) throws(Errno) -> [UInt8] {
        let directory = try open(subject.directory)
        let (temporary, descriptor) = try makeTemporary(for: subject, in: directory)
        do {
            try writeAll(text, to: descriptor.rawValue)
            return try place(temporary, in: directory, for: subject, known: known)
        } catch {
            try? directory.unlink(temporary)
            throw error
        }
    }

    /// Makes the file that a sidecar is written to first.
    ///
    /// It has always the same name for the same subject: what a kill leaves behind goes with the next write. What can't
    /// be removed, as a directory that somebody else made, is passed over.
    private func makeTemporary(
        for subject: SidecarSubject, in directory: Directory
    ) throws(Errno) -> (name: [UInt8], file: SharedDescriptor) {
        let usual = SidecarName.temporary(for: subject.name)
        do {
            return (usual, try create(usual, in: directory))
        } catch Errno.fileExists {
            if (try? directory.unlink(usual)) != nil { return (usual, try create(usual, in: directory)) }
        }
        let other = SidecarName.temporary(UInt32.random(in: .min ... .max))
        return (other, try create(other, in: directory))
    }

    private func create(_ name: [UInt8], in directory: Directory) throws(Errno) -> SharedDescriptor {
        SharedDescriptor(try directory.open(name, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o644))
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
    static func content(of name: [UInt8], in directory: Directory, atMost limit: Int) -> [UInt8]? {
        guard let descriptor = try? directory.open(name, flags: O_RDONLY | O_NOFOLLOW),
            let status = try? FileStatus(of: descriptor.rawValue), status.kind == .regular
        else { return nil }
        let file = SharedDescriptor(descriptor)
        var content = [UInt8](repeating: 0, count: Int(min(status.size, UInt64(limit))))
        let count = content.withUnsafeMutableBytes { (try? file.read(into: $0, at: 0)) ?? 0 }
        return Array(content.prefix(count))
    }

    private func open(_ path: RelativePath) throws(Errno) -> Directory {
        switch tree {
        case .outbox(let outbox): return try outbox.open().directory(path.bytes)
        case .mirror(let root):
            if (try? FileStatus(path: root)) == nil { try Directory.create(root) }
            return try Directory(path: root).createDirectories(path.bytes)
        }
    }

    /// A directory of the tree, which must be there.
    func existing(_ path: RelativePath) throws(Errno) -> Directory {
        switch tree {
        case .outbox(let outbox): return try outbox.open().directory(path.bytes)
        case .mirror(let root): return try Directory(path: root).directory(path.bytes)
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
                if name == usual, let other = subject.displaced, holds(name, other.owns, in: directory) {
                    try giveWay(of: other, in: directory)
                } else if !isSidecar(name, of: subject, in: directory) {
                    continue
                }
                let wasBlank = holds(name, Self.isBlank, in: directory)
                try directory.rename(temporary, to: name)
                if wasBlank { removeNext(after: name, of: subject, in: directory) }
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
    static func names(of subject: SidecarSubject) -> some Sequence<[UInt8]> {
        (1...attempts).lazy.map { SidecarName.name(for: subject.name, copy: $0) }
    }

    /// The name under which the sidecar of a file or source stands; nil where there is none.
    func find(_ subject: SidecarSubject, in directory: Directory) -> [UInt8]? {
        var mayBeFree = subject.mayHaveGivenWay
        for name in Self.names(of: subject) {
            if isSidecar(name, of: subject, in: directory) { return name }
            guard mayBeFree || (try? directory.status(name)) != nil else { return nil }
            mayBeFree = false
        }
        return nil
    }

    /// Whether a file is a sidecar that this program wrote for a file or source, as its first bytes tell.
    ///
    /// So is one that is empty or begins with a page of zero bytes: a power cut leaves a file like that if it comes between
    /// the renaming and the writing to disk.
    private func isSidecar(_ name: [UInt8], of subject: SidecarSubject, in directory: Directory) -> Bool {
        holds(name, { subject.owns($0) || Self.isBlank($0) }, in: directory)
    }

    private func holds(_ name: [UInt8], _ condition: ([UInt8]) -> Bool, in directory: Directory) -> Bool {
        Self.content(of: name, in: directory, atMost: Self.head).map(condition) ?? false
    }

    /// The kernel writes a file page by page, so a long sidecar may have lost its first page alone.
    private static func isBlank(_ text: [UInt8]) -> Bool { text.prefix(pageSize).allSatisfy { $0 == 0 } }

    private static let pageSize = 4096

    /// Removes the sidecar that was written under the next name while the one before was taken for a foreign file.
    private func removeNext(after name: [UInt8], of subject: SidecarSubject, in directory: Directory) {
        let names = Self.names(of: subject).drop { $0 != name }.dropFirst()
        for next in names.prefix(while: { holds($0, subject.owns, in: directory) }) { try? directory.unlink(next) }
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
