public import UploadCore

/// Finds what a word on the command line names: a file, a directory or a key.
public struct FileNames: Sendable {
    /// What a word names.
    public enum Found: Equatable, Sendable {
        /// Files the agent knows: one by its path, or all that have a key.
        case known([RelativePath])
        /// A file that is there, and that the agent does not know.
        case unseen(RelativePath)
        /// A directory in the outbox, with all that is below it; `.root` is the outbox itself.
        case below(RelativePath)
        /// Neither a file in the outbox nor one the agent knows.
        case nothing
    }

    private let place: OutboxPlace
    private let paths: Set<RelativePath>
    private let byShownPath: [String: RelativePath]
    private let byKey: [String: [RelativePath]]
    /// Files that the agent moved, by where they were dropped.
    private let byDroppedPath: [RelativePath: RelativePath]

    /// Names among files.
    ///
    /// - Parameters:
    ///   - place: where relative names start.
    ///   - files: what the agent knows.
    public init(place: OutboxPlace, files: [FileEntry]) {
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

    /// What a word names.
    ///
    /// - Parameter word: its bytes, since a file name need not be UTF-8.
    public func find(_ word: [UInt8]) -> Found {
        for candidate in place.candidates(for: word) {
            if paths.contains(candidate.path) { return .known([candidate.path]) }
            switch candidate.kind {
            case .directory: return .below(candidate.path)
            case .file: return .unseen(candidate.path)
            case .missing:
                if let path = byDroppedPath[candidate.path] { return .known([path]) }
                // A directory that is gone may have files in the ledger.
                let isWithin = { (path: RelativePath) in path.isWithin(candidate.path) }
                if paths.contains(where: isWithin) || byDroppedPath.keys.contains(where: isWithin) {
                    return .below(candidate.path)
                }
            }
        }
        let text = String(decoding: word, as: UTF8.self)
        // As `status` prints it: the only way to type a name that is not UTF-8.
        if let path = byShownPath[text] { return .known([path]) }
        if let key = ContentKey(hexadecimal: text), let paths = byKey[key.description] { return .known(paths) }
        return .nothing
    }
}

extension Configuration {
    /// Whether the agent never takes a file with this path, whatever is in it: a name that `intake.ignore` matches, a
    /// sidecar, or what `intake.after_upload` has moved.
    public func neverTakes(_ path: RelativePath) -> Bool {
        intake.ignore.contains { $0.matchesAnyComponent(of: path.bytes) }
            || String(decoding: path.name, as: UTF8.self).hasSuffix(".outbox.json")
            || RelativePath(intake.moveTo).map(path.isWithin) ?? false
    }
}
