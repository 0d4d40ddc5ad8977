import Console
import ControlAPI
import Reports
import UploadCore

/// Resolves a word on the command line with specific requests to the agent, which may know a hundred thousand files.
struct FileFinder {
    /// The meaning of a word.
    enum Found {
        /// A file the agent knows.
        case file(FileEntry)
        /// All paths with a content.
        case content(ContentKey, [FileEntry])
        /// A directory in the outbox with everything below; `.root` is the outbox itself.
        case below(RelativePath)
        /// A source the agent knows.
        case source(SourceEntry)
        /// An existing file that the agent does not know.
        case unseen(RelativePath)
        /// A directory with a `source.toml` that the agent has not seen yet.
        case unseenSource(RelativePath)
    }

    private let link: AgentLink
    private var everything: [FileEntry]?
    private var knownSources: [SourceEntry]?

    init(_ link: AgentLink) {
        self.link = link
    }

    /// Resolves a word.
    ///
    /// - Throws: `ControlError`, or `CommandFailure.noSuchFile` if the word names nothing.
    mutating func find(_ word: String) async throws -> Found {
        let bytes = link.surroundings.bytes(of: word)
        for candidate in link.place.candidates(for: bytes) {
            if let file = try await link.client.file(at: candidate.path) { return .file(file) }
            if candidate.kind != .file, let source = try await source(at: candidate.path) { return .source(source) }
            switch candidate.kind {
            case .directory:
                return link.place.isSource(candidate.path) ? .unseenSource(candidate.path) : .below(candidate.path)
            case .file:
                guard !link.configuration.neverTakes(candidate.path) else { throw link.neverTaken(word) }
                return .unseen(candidate.path)
            case .missing: continue
            }
        }
        if let path = RelativePath(shown: word) {
            if let file = try await link.client.file(at: path) { return .file(file) }
            if let source = try await source(at: path) { return .source(source) }
        }
        if let key = ContentKey(hexadecimal: word) {
            let files = try await link.client.files(of: key)
            if !files.isEmpty { return .content(key, files) }
        }
        return try await vanishedDirectory(bytes) ?? { throw link.noSuchFile(word) }()
    }

    /// Every source the agent knows, requested only once.
    mutating func sources() async throws(ControlError) -> [SourceEntry] {
        if let knownSources { return knownSources }
        let sources = try await link.client.sources()
        knownSources = sources
        return sources
    }

    private mutating func source(at path: RelativePath) async throws(ControlError) -> SourceEntry? {
        try await sources().first { $0.relativePath == path }
    }

    /// The files and sources that words name, ordered by path. A source includes its files.
    ///
    /// - Throws: `ControlError`, or `CommandFailure.noSuchFile` for a word that names nothing the agent knows.
    mutating func entries(named words: [String]) async throws -> (files: [FileEntry], sources: [SourceEntry]) {
        var files: [String: FileEntry] = [:]
        var sources: [String: SourceEntry] = [:]
        for word in words {
            switch try await find(word) {
            case .file(let file): files[file.id] = file
            case .content(_, let same): for file in same { files[file.id] = file }
            case .below(let directory):
                for file in try await filesBelow(directory) { files[file.id] = file }
                for source in try await sourcesBelow(directory) { sources[source.id] = source }
            case .source(let source):
                for file in try await filesBelow(source.relativePath) { files[file.id] = file }
                sources[source.id] = source
            case .unseen, .unseenSource: throw link.notSeenYet(word)
            }
        }
        return (files.values.sorted { $0.path < $1.path }, sources.values.sorted { $0.path < $1.path })
    }

    /// The sources in a directory and its sub-directories.
    mutating func sourcesBelow(_ directory: RelativePath) async throws(ControlError) -> [SourceEntry] {
        try await sources().filter { $0.relativePath.map { $0.isWithin(directory) } ?? false }
    }

    private func filesBelow(_ directory: RelativePath?) async throws(ControlError) -> [FileEntry] {
        guard let directory else { return [] }
        return try await link.client.files().filter { $0.isWithin(directory) }
    }

    /// Finds a removed directory whose files the agent still knows.
    private mutating func vanishedDirectory(_ bytes: [UInt8]) async throws -> Found? {
        let candidates = link.place.candidates(for: bytes).map(\.path)
        guard !candidates.isEmpty else { return nil }
        if everything == nil { everything = try await link.client.files() }
        return candidates.first { candidate in everything?.contains { $0.isWithin(candidate) } ?? false }
            .map(Found.below)
    }
}
