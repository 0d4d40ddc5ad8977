import Glibc
package import Intake
package import LinuxSystem
import SystemPackage
import UploadCore

/// Writes, moves and removes sidecar files.
///
/// A sidecar is written to a temporary file, which is then renamed. Both names are relative to the open directory.
/// Readers never see a partial sidecar, and foreign files with the same name stay untouched.
///
/// An unnamed file (man 2 open, O_TMPFILE) would take 27 µs of the kernel instead of 33 µs, but linking it raises
/// `IN_CREATE`, and programs wait for `IN_MOVED_TO`.
package struct SidecarStore: Sendable {
    /// The directory tree of the sidecars.
    private enum Tree: Sendable {
        /// The outbox. Directories are never created there.
        case outbox(OutboxFiles)
        /// `sidecars.directory`. Directories are created as needed.
        case mirror(String)
    }

    private let tree: Tree

    /// Whether sidecars stand in the outbox.
    var standBesideFiles: Bool { if case .outbox = tree { true } else { false } }

    /// Root of a separate tree of sidecars.
    var mirrorRoot: String? { if case .mirror(let root) = tree { root } else { nil } }

    /// Creates a store for sidecars beside the files of an outbox.
    package init(beside outbox: PinnedDirectory) {
        tree = .outbox(OutboxFiles(outbox))
    }

    /// Creates a store for sidecars in a separate tree.
    ///
    /// - Parameter mirror: absolute path of the root, which may be missing yet.
    package init(mirror: String) {
        tree = .mirror(mirror)
    }

    /// Creates a store for sidecars in a separate tree, or beside the files without one.
    ///
    /// - Parameter mirror: absolute path of the root, which may be missing yet.
    package init(mirror: String?, outbox: OutboxFiles) {
        tree = mirror.map(Tree.mirror) ?? .outbox(outbox)
    }

    /// Makes a call that looks at a directory of the tree.
    ///
    /// - Parameters:
    ///   - work: what the call does, for people.
    ///   - isChange: whether the call changes something.
    ///   - body: may run on after this function has thrown.
    /// - Throws: the error of the call; `.timedOut` if the file system does not answer.
    func call<Result: Sendable>(
        _ directory: RelativePath, _ work: String, isChange: Bool = false,
        _ body: @escaping @Sendable () throws(Errno) -> Result
    ) throws(Errno) -> Result {
        guard case .outbox(let files) = tree else { return try body() }
        return try files.call(directory, work, keepsResult: !isChange) { _ throws(Errno) in try body() }
    }

    private static let attempts = 100

    /// Number of bytes that suffice to recognise a sidecar, even with the longest path.
    static let head = 1 << 16
    /// Maximum size of a sidecar: enough for a source whose files have the longest names.
    static let longest = 1 << 24

    /// Writes the sidecar of a file or source.
    ///
    /// - Parameters:
    ///   - text: the full content.
    ///   - subject: the file or source that the sidecar describes.
    ///   - known: the name of an earlier write in this run; `nil` if there was none.
    ///   - replaces: whether a sidecar is likely to exist. Saves system calls, and nothing depends on it.
    ///   - directory: the subject's directory, if it is open.
    /// - Returns: the current name.
    /// - Throws: `Errno`; `.noSuchFileOrDirectory` if the directory is gone, `.staleNFSFileHandle` if the outbox is.
    func write(
        _ text: [UInt8], for subject: SidecarSubject, known: [UInt8]?, replaces: Bool = false,
        in directory: Directory? = nil
    ) throws(Errno) -> [UInt8] {
        try call(subject.directory, "writing a sidecar for \(subject) in", isChange: true) { () throws(Errno) in
            try writeAtOnce(text, for: subject, known: known, replaces: replaces, in: directory)
        }
    }

    private func writeAtOnce(
        _ text: [UInt8], for subject: SidecarSubject, known: [UInt8]?, replaces: Bool, in directory: Directory?
    ) throws(Errno) -> [UInt8] {
        let directory = if let directory { directory } else { try openAtOnce(subject.directory) }
        let temporary = try makeTemporary(text, for: subject, in: directory)
        do {
            return try place(temporary, in: directory, for: subject, known: known, replaces: replaces)
        } catch {
            try? directory.unlink(temporary)
            throw error
        }
    }

    /// Writes the temporary file of a sidecar.
    ///
    /// The name is always the same for a subject, so the next write replaces what a kill left behind. If the old file
    /// can't be removed, for example because it is a foreign directory, a random name is used.
    ///
    /// - Returns: the name.
    private func makeTemporary(
        _ text: [UInt8], for subject: SidecarSubject, in directory: Directory
    ) throws(Errno) -> [UInt8] {
        let usual = SidecarName.temporary(for: subject.name)
        do {
            try Self.createTemporary(usual, text, in: directory)
            return usual
        } catch Errno.fileExists {
            if (try? directory.unlink(usual)) != nil {
                try Self.createTemporary(usual, text, in: directory)
                return usual
            }
        }
        let other = SidecarName.temporary(UInt32.random(in: .min ... .max))
        try Self.createTemporary(other, text, in: directory)
        return other
    }

    private static func createTemporary(
        _ name: [UInt8], _ text: [UInt8], in directory: Directory
    ) throws(Errno) {
        let file = try directory.open(name, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o644)
        do {
            try writeAll(text, to: file.rawValue)
        } catch {
            try? directory.unlink(name)
            throw error
        }
    }

    /// Whether the sidecar of a file or source contains all these pieces of text. After a crash, this tells a final
    /// sidecar from an older one.
    func sidecar(of subject: SidecarSubject, holds pieces: [String]) -> Bool {
        let found = try? call(subject.directory, "reading the sidecar of \(subject) in") { () -> [UInt8]? in
            guard let directory = try? existing(subject.directory), let name = find(subject, in: directory) else {
                return nil
            }
            return Self.content(of: name, in: directory, atMost: Self.longest)
        }
        guard let content = found ?? nil else { return false }
        let text = String(decoding: content, as: UTF8.self)
        return pieces.allSatisfy(text.contains)
    }

    /// Returns the beginning of a file that may be a sidecar; `nil` if the file can't be one.
    static func content(of name: [UInt8], in directory: Directory, atMost limit: Int) -> [UInt8]? {
        (try? content(ofExisting: name, in: directory, atMost: limit)) ?? nil
    }

    /// Returns the beginning of a file that may be a sidecar; `nil` if the file can't be one.
    ///
    /// - Throws: `Errno` of openat2(2).
    private static func content(
        ofExisting name: [UInt8], in directory: Directory, atMost limit: Int
    ) throws(Errno) -> [UInt8]? {
        let descriptor = try directory.open(name, flags: O_RDONLY | O_NOFOLLOW)
        guard let status = try? FileStatus(of: descriptor.rawValue), status.kind == .regular else { return nil }
        let file = SharedDescriptor(descriptor)
        var content = [UInt8](repeating: 0, count: Int(min(status.size, UInt64(limit))))
        let count = content.withUnsafeMutableBytes { (try? file.read(into: $0, at: 0)) ?? 0 }
        return Array(content.prefix(count))
    }

    /// Opens the directory of sidecars, and creates it in a separate tree.
    func open(_ path: RelativePath) throws(Errno) -> Directory {
        try call(path, "opening") { () throws(Errno) in try openAtOnce(path) }
    }

    private func openAtOnce(_ path: RelativePath) throws(Errno) -> Directory {
        switch tree {
        case .outbox(let files): return try files.blocking.directory(path)
        case .mirror(let root):
            if (try? FileStatus(path: root)) == nil { try Directory.create(root) }
            return try Directory(path: root).createDirectories(path.bytes)
        }
    }

    /// Opens a directory of the tree, which must exist.
    func existing(_ path: RelativePath) throws(Errno) -> Directory {
        switch tree {
        case .outbox(let files): return try files.blocking.directory(path)
        case .mirror(let root): return try Directory(path: root).directory(path.bytes)
        }
    }

    private func place(
        _ temporary: [UInt8], in directory: Directory, for subject: SidecarSubject, known: [UInt8]?, replaces: Bool
    ) throws(Errno) -> [UInt8] {
        if let name = known ?? (subject.mayHaveGivenWay ? find(subject, in: directory) : nil) {
            try directory.rename(temporary, to: name)
            return name
        }
        let usual = SidecarName.name(for: subject.name)
        for name in Self.names(of: subject) {
            if !replaces || name != usual {
                do {
                    try directory.moveWithoutReplacing(temporary, to: name, in: directory)
                    return name
                } catch Errno.fileExists {}
            }
            let occupant = occupant(of: name, for: subject, in: directory)
            if occupant == .none {
                try directory.moveWithoutReplacing(temporary, to: name, in: directory)
                return name
            }
            if occupant == .foreign {
                guard name == usual, let other = subject.displaced, holds(name, other.owns, in: directory) else {
                    continue
                }
                try giveWay(of: other, in: directory)
            }
            try directory.rename(temporary, to: name)
            if occupant == .blank { removeNext(after: name, of: subject, in: directory) }
            return name
        }
        throw .fileExists
    }

    /// Renames a sidecar with the usual name to the next free name.
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

    /// The possible names of a sidecar. The usual one comes first.
    static func names(of subject: SidecarSubject) -> some Sequence<[UInt8]> {
        (1...attempts).lazy.map { SidecarName.name(for: subject.name, copy: $0) }
    }

    /// Returns the name of the existing sidecar; `nil` if there is none.
    func find(_ subject: SidecarSubject, in directory: Directory) -> [UInt8]? {
        var mayBeFree = subject.mayHaveGivenWay
        for name in Self.names(of: subject) {
            switch occupant(of: name, for: subject, in: directory) {
            case .own, .blank: return name
            case .none: if !mayBeFree { return nil }
            case .foreign: break
            }
            mayBeFree = false
        }
        return nil
    }

    /// What has the name of a sidecar.
    private enum Occupant {
        case none
        /// The sidecar of the file or source.
        case own
        /// An empty file, or one that begins with a page of zero bytes. Counts as the sidecar: a power cut between
        /// renaming and writing to disk leaves such files.
        case blank
        case foreign
    }

    /// Judges by the first bytes whether the agent wrote a sidecar for the file or source.
    private func occupant(of name: [UInt8], for subject: SidecarSubject, in directory: Directory) -> Occupant {
        do throws(Errno) {
            guard let text = try Self.content(ofExisting: name, in: directory, atMost: Self.head) else {
                return .foreign
            }
            return subject.owns(text) ? .own : Self.isBlank(text) ? .blank : .foreign
        } catch {
            return error == .noSuchFileOrDirectory ? .none : .foreign
        }
    }

    private func isSidecar(_ name: [UInt8], of subject: SidecarSubject, in directory: Directory) -> Bool {
        [.own, .blank].contains(occupant(of: name, for: subject, in: directory))
    }

    private func holds(_ name: [UInt8], _ condition: ([UInt8]) -> Bool, in directory: Directory) -> Bool {
        Self.content(of: name, in: directory, atMost: Self.head).map(condition) ?? false
    }

    /// The kernel writes files page by page, so a long sidecar may lack only its first page.
    private static func isBlank(_ text: [UInt8]) -> Bool { text.prefix(pageSize).allSatisfy { $0 == 0 } }

    private static let pageSize = 4096

    /// Removes sidecars under later names. They were written while a blank sidecar seemed to be a foreign file.
    private func removeNext(after name: [UInt8], of subject: SidecarSubject, in directory: Directory) {
        let names = Self.names(of: subject).drop { $0 != name }.dropFirst()
        for next in names.prefix(while: { holds($0, subject.owns, in: directory) }) { try? directory.unlink(next) }
    }

    /// Removes the sidecar of a file or source. A missing or foreign sidecar is no error.
    ///
    /// - Returns: whether a sidecar was removed.
    @discardableResult
    package func remove(for subject: SidecarSubject, known: [UInt8]?, in directory: Directory? = nil) -> Bool {
        let isRemoved = try? call(subject.directory, "removing the sidecar of \(subject) in", isChange: true) {
            guard let directory = directory ?? (try? existing(subject.directory)) else { return false }
            if let known, isSidecar(known, of: subject, in: directory) { return (try? directory.unlink(known)) != nil }
            return find(subject, in: directory).map { (try? directory.unlink($0)) != nil } ?? false
        }
        return isRemoved ?? false
    }
}
