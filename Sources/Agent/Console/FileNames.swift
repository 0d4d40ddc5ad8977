import AgentConfiguration
package import Reports
import Text
package import UploadCore

/// Resolves a word on the command line to a file, a directory or a key.
package struct FileNames: Sendable {
    /// The meaning of a word.
    package enum Found: Equatable, Sendable {
        /// Files the agent knows: one by its path, or all with a key.
        case known([RelativePath])
        /// An existing file that the agent does not know.
        case unseen(RelativePath)
        /// A directory in the outbox with everything below; `.root` is the outbox itself.
        case below(RelativePath)
        /// Neither a file in the outbox nor a file the agent knows.
        case nothing
    }

    private let place: OutboxPlace
    private let paths: Set<RelativePath>
    private let byShownPath: [String: RelativePath]
    private let byKey: [String: [RelativePath]]
    /// Files that the agent moved, keyed by the path where they were dropped.
    private let byDroppedPath: [RelativePath: RelativePath]

    /// Creates a resolver.
    ///
    /// - Parameters:
    ///   - place: Resolves relative names.
    ///   - files: The files the agent knows.
    package init(place: OutboxPlace, files: [FileEntry]) {
        self.place = place
        var byShownPath: [String: RelativePath] = [:]
        var byKey: [String: [RelativePath]] = [:]
        var byDroppedPath: [RelativePath: RelativePath] = [:]
        for file in files {
            guard let path = file.relativePath else { continue }
            byShownPath[file.path] = path
            if let dropped = file.droppedPath, dropped != path { byDroppedPath[dropped] = path }
            if let key = file.key { byKey[key, default: []].append(path) }
        }
        self.byShownPath = byShownPath
        self.byKey = byKey
        self.byDroppedPath = byDroppedPath
        paths = Set(byShownPath.values)
    }

    /// Resolves a word.
    ///
    /// - Parameter word: The word's bytes, because a file name need not be UTF-8.
    package func find(_ word: [UInt8]) -> Found {
        for candidate in place.candidates(for: word) {
            if paths.contains(candidate.path) { return .known([candidate.path]) }
            switch candidate.kind {
            case .directory: return .below(candidate.path)
            case .file: return .unseen(candidate.path)
            case .missing:
                if let path = byDroppedPath[candidate.path] { return .known([path]) }
                // The ledger may still have files of a removed directory.
                let isWithin = { (path: RelativePath) in path.isWithin(candidate.path) }
                if paths.contains(where: isWithin) || byDroppedPath.keys.contains(where: isWithin) {
                    return .below(candidate.path)
                }
            }
        }
        let text = String(decoding: word, as: UTF8.self)
        // The form `status` prints: the only way to type a name that is not UTF-8.
        if let path = byShownPath[text] { return .known([path]) }
        if let key = ContentKey(hexadecimal: text), let paths = byKey[key.description] { return .known(paths) }
        return .nothing
    }
}

extension Configuration {
    /// Whether the agent never takes a file with this path, whatever its content: `intake.ignore` matches the name,
    /// the file is a sidecar, or `intake.after_upload` moved it.
    package func neverTakes(_ path: RelativePath) -> Bool {
        intake.ignore.contains { $0.matchesAnyComponent(of: path.bytes) }
            || String(decoding: path.name, as: UTF8.self).hasSuffix(".outbox.json")
            || RelativePath(intake.moveTo).map(path.isWithin) ?? false
    }
}

/// Quotes words of command lines that are shown to the user.
package enum ShellWord {
    /// Returns a text as one shell word, escaped for display and quoted if necessary (POSIX.1, 2.2.2).
    package static func text(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"):
                true
            default: "._/%+=:,-".utf8.contains(byte)
            }
        }
        guard !isPlain || text.isEmpty else { return text }
        let parts = DisplayText.escaped(text).split(separator: "'", omittingEmptySubsequences: false)
        return "'" + parts.joined(separator: "'\\''") + "'"
    }
}
