import AgentKit
import UploadCore

/// Finds what a word on the command line names by asking the agent about that alone: an agent may know a hundred
/// thousand files.
struct FileFinder {
    /// What a word names.
    enum Found {
        /// A file the agent knows.
        case file(FileEntry)
        /// Every path with a content.
        case content(ContentKey, [FileEntry])
        /// A directory in the outbox with all that is below it; `.root` is the outbox itself.
        case below(RelativePath)
        /// A file that is there, and that the agent does not know.
        case unseen(RelativePath)
    }

    private let link: AgentLink
    private var everything: [FileEntry]?

    init(_ link: AgentLink) {
        self.link = link
    }

    /// What a word names.
    ///
    /// - Throws: `ControlError`, or `CommandFailure.noSuchFile` where it names nothing.
    mutating func find(_ word: String) async throws -> Found {
        let bytes = link.surroundings.bytes(of: word)
        for candidate in link.place.candidates(for: bytes) {
            if let file = try await link.client.file(at: candidate.path) { return .file(file) }
            switch candidate.kind {
            case .directory: return .below(candidate.path)
            case .file:
                guard !link.configuration.neverTakes(candidate.path) else { throw link.neverTaken(word) }
                return .unseen(candidate.path)
            case .missing: continue
            }
        }
        if let path = RelativePath(shown: word), let file = try await link.client.file(at: path) { return .file(file) }
        if let key = ContentKey(hexadecimal: word) {
            let files = try await link.client.files(of: key)
            if !files.isEmpty { return .content(key, files) }
        }
        return try await vanishedDirectory(bytes) ?? { throw link.noSuchFile(word) }()
    }

    /// The files that words name, in the order of their paths.
    ///
    /// - Throws: `ControlError`, or `CommandFailure.noSuchFile` for a word that names none the agent knows.
    mutating func files(named words: [String]) async throws -> [FileEntry] {
        var found: [String: FileEntry] = [:]
        for word in words {
            let files: [FileEntry] =
                switch try await find(word) {
                case .file(let file): [file]
                case .content(_, let files): files
                case .below(let directory):
                    try await link.client.files().filter { $0.relativePath.map { $0.isWithin(directory) } ?? false }
                case .unseen: throw link.notSeenYet(word)
                }
            for file in files { found[file.id] = file }
        }
        return found.values.sorted { $0.path < $1.path }
    }

    /// A directory that is gone may have files the agent still knows.
    private mutating func vanishedDirectory(_ bytes: [UInt8]) async throws -> Found? {
        let candidates = link.place.candidates(for: bytes).map(\.path)
        guard !candidates.isEmpty else { return nil }
        if everything == nil { everything = try await link.client.files() }
        let paths = everything?.compactMap(\.relativePath) ?? []
        return candidates.first { candidate in paths.contains { $0.isWithin(candidate) } }.map(Found.below)
    }
}
