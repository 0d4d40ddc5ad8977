import Text
import CLinux
import Glibc
import Reports
package import UploadCore

/// Resolves names on the command line relative to the outbox.
///
/// Compares directories by their real paths, so a name may reach the outbox through any symbolic links. The last part
/// of a name is never resolved: a link in the outbox counts as a file (and is rejected).
package struct OutboxPlace: Sendable {
    /// A possible meaning of a name.
    package struct Candidate: Equatable, Sendable {
        /// The kind of object at the path.
        package enum Kind: Equatable, Sendable {
            /// No object.
            case missing
            /// A directory, the outbox itself included.
            case directory
            /// Any other object.
            case file
        }

        /// The path in the outbox.
        package let path: RelativePath
        /// The kind of object at that path.
        package let kind: Kind

        init(path: RelativePath, kind: Kind) {
            self.path = path
            self.kind = kind
        }
    }

    private let outbox: [UInt8]
    private let currentDirectory: [UInt8]
    private static let slash = UInt8(ascii: "/")

    /// Creates a place.
    ///
    /// - Parameters:
    ///   - outbox: Absolute path of the watched directory, which may be a symbolic link.
    ///   - currentDirectory: Absolute path where relative names start first.
    package init(outbox: String, currentDirectory: String) {
        self.outbox = Array(outbox.utf8)
        self.currentDirectory = Array(currentDirectory.utf8)
    }

    /// Returns the possible meanings of a name, first relative to the current directory, then relative to the outbox.
    /// Paths outside of the outbox are omitted.
    package func candidates(for name: [UInt8]) -> [Candidate] {
        guard !name.isEmpty, !name.contains(0) else { return [] }
        if name.first == Self.slash { return [candidate(name)].compactMap(\.self) }
        let places = [currentDirectory, outbox].map { $0 + [Self.slash] + name }
        return places.compactMap(candidate).reduce(into: []) { found, next in
            if !found.contains(next) { found.append(next) }
        }
    }

    /// Returns the kind of object at a path of the outbox.
    package func kind(of path: RelativePath) -> Candidate.Kind {
        path.bytes.isEmpty ? .directory : Self.kind(outbox + [Self.slash] + path.bytes)
    }

    /// Whether the directory at a path of the outbox contains a `source.toml`, and so is a source.
    package func isSource(_ path: RelativePath) -> Bool {
        !path.bytes.isEmpty && kind(of: path) == .directory
            && kind(of: path.appending(SourceReport.descriptionName.utf8)) == .file
    }

    /// Explains why a name means nothing in the outbox, and what to do.
    ///
    /// - Parameters:
    ///   - name: The name as typed.
    ///   - bytes: The name's bytes.
    package func reasonForUnknown(_ name: String, bytes: [UInt8]) -> String {
        let shown = DisplayText.escaped(String(decoding: outbox, as: UTF8.self))
        let path = bytes.first == Self.slash ? bytes : currentDirectory + [Self.slash] + bytes
        if !bytes.isEmpty, !bytes.contains(0), Self.kind(path) != .missing {
            let target = ShellWord.text(String(decoding: outbox, as: UTF8.self))
            let recursive = Self.kind(path) == .directory ? "-r " : ""
            return "not in the outbox; copy it into \(shown) first: cp \(recursive)\(ShellWord.text(name)) \(target)/"
        }
        return "no such file in \(shown), and not the key of an upload; `outbox status` lists all files"
    }

    private func candidate(_ absolute: [UInt8]) -> Candidate? {
        // If the outbox is unavailable, the agent still knows its files.
        guard let root = Self.realPath(outbox) ?? Self.resolvingDirectories(of: outbox) else { return nil }
        if Self.realPath(absolute) == root { return Candidate(path: .root, kind: .directory) }
        guard let real = Self.resolvingDirectories(of: absolute), let path = Self.path(real, below: root) else {
            return nil
        }
        return Candidate(path: path, kind: kind(of: path))
    }

    private static func path(_ path: [UInt8], below root: [UInt8]) -> RelativePath? {
        let prefix = root == [slash] ? root : root + [slash]
        return path.starts(with: prefix) ? RelativePath(Array(path.dropFirst(prefix.count))) : nil
    }

    /// Resolves the directory part of a name, and keeps the last part unchanged.
    ///
    /// Missing directories stay as written: the ledger may still know their files.
    private static func resolvingDirectories(of absolute: [UInt8]) -> [UInt8]? {
        var parts = absolute.split(separator: slash).filter { !$0.elementsEqual(".".utf8) }.map(Array.init)
        guard let last = parts.last else { return nil }
        if last.elementsEqual("..".utf8) { return realPath(absolute) }
        var tail = [parts.removeLast()]
        while true {
            let directory = [slash] + Array(parts.joined(separator: [slash]))
            if let real = realPath(directory) {
                return (real == [slash] ? [] : real) + tail.flatMap { [slash] + $0 }
            }
            guard let gone = parts.popLast(), !gone.elementsEqual("..".utf8) else { return nil }
            tail.insert(gone, at: 0)
        }
    }

    private static func kind(_ path: [UInt8]) -> Candidate.Kind {
        var status = stat()
        guard withCString(path, { lstat($0, &status) }) == 0 else { return .missing }
        return status.st_mode & S_IFMT == S_IFDIR ? .directory : .file
    }

    private static func realPath(_ path: [UInt8]) -> [UInt8]? {
        guard let resolved = withCString(path, { realpath($0, nil) }) else { return nil }
        defer { free(resolved) }
        return Array(UnsafeBufferPointer(start: resolved, count: strlen(resolved)).lazy.map { UInt8(bitPattern: $0) })
    }

    private static func withCString<Result>(_ path: [UInt8], _ body: (UnsafePointer<CChar>) -> Result?) -> Result? {
        (path.map { CChar(bitPattern: $0) } + [0]).withUnsafeBufferPointer { $0.baseAddress.flatMap(body) }
    }
}
