import AgentConfiguration
import Text
import Console
import ControlAPI
import Reports
import UploadCore

/// Resolves words on the command line to files and posts, with specific requests to the agent, which may know a hundred
/// thousand files.
struct TargetFinder {
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
    private var knownSources: [SourceEntry]?

    /// How long to wait until the agent knows a new file or post. An idle machine needs 100 ms, an agent that is busy
    /// with a large scan needs longer.
    private static let patience = Duration.seconds(10)

    init(_ link: AgentLink) {
        self.link = link
    }

    // MARK: Any target

    /// Resolves a word.
    ///
    /// - Throws: `ControlError`, or `CommandFailure.noSuchFile` if the word names nothing.
    mutating func find(_ word: String) async throws -> Found {
        let bytes = link.surroundings.bytes(of: word)
        for candidate in link.place.candidates(for: bytes) {
            if let file = try await link.client.file(at: candidate.path) { return .file(file) }
            if candidate.kind != .file, let source = try await source(at: [candidate.path]) { return .source(source) }
            switch candidate.kind {
            case .directory:
                return link.place.isSource(candidate.path) ? .unseenSource(candidate.path) : .below(candidate.path)
            case .file:
                // The description of a post stands for the post: no upload has its name.
                if let directory = PostPlaces.directory(of: candidate.path) {
                    return try await source(at: [directory]).map(Found.source) ?? .unseenSource(directory)
                }
                guard !link.configuration.neverTakes(candidate.path) else { throw link.neverTaken(word) }
                return .unseen(candidate.path)
            case .missing: continue
            }
        }
        if let path = RelativePath(shown: word) {
            if let file = try await link.client.file(at: path) { return .file(file) }
            if let source = try await source(at: [path]) { return .source(source) }
        }
        if let key = ContentKey(hexadecimal: word) {
            let files = try await link.client.files(of: key)
            if !files.isEmpty { return .content(key, files) }
        }
        return try await vanishedDirectory(bytes) ?? { throw link.noSuchFile(word) }()
    }

    /// Resolves a word to a target that the agent knows. Waits for a file that was dropped or renamed a moment ago.
    ///
    /// - Throws: `ControlError`, or `CommandFailure.noSuchFile` if the agent does not know the target.
    mutating func findKnown(_ word: String) async throws -> Found {
        let found = try await poll(for: Self.patience) { (finder: inout TargetFinder) -> Found? in
            let found = try await finder.find(word)
            if case .unseen = found { return nil }
            return found
        }
        if case .unseenSource = found { throw link.notSeenYet(word) }
        return try found ?? { throw link.notSeenYet(word) }()
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

    /// Every source the agent knows, requested only once.
    mutating func sources() async throws(ControlError) -> [SourceEntry] {
        if let knownSources { return knownSources }
        let sources = try await link.client.sources()
        knownSources = sources
        return sources
    }

    /// The sources in a directory and its sub-directories.
    mutating func sourcesBelow(_ directory: RelativePath) async throws(ControlError) -> [SourceEntry] {
        try await sources().filter { $0.isWithin(directory) }
    }

    /// The source at the first of these paths that has one.
    private mutating func source(at paths: [RelativePath]) async throws(ControlError) -> SourceEntry? {
        let sources = try await sources()
        return paths.lazy.compactMap { path in sources.first { $0.relativePath == path } }.first
    }

    private func filesBelow(_ directory: RelativePath?) async throws(ControlError) -> [FileEntry] {
        guard let directory else { return [] }
        return try await link.client.files(below: directory)
    }

    /// Finds a removed directory whose files the agent still knows.
    private mutating func vanishedDirectory(_ bytes: [UInt8]) async throws -> Found? {
        let candidates = link.place.candidates(for: bytes).map(\.path)
        for candidate in candidates where candidate != .root {
            let list: EntryList<FileEntry> = try await link.client.entries(ListQuery(below: candidate, atMost: 1))
            if !list.entries.isEmpty { return .below(candidate) }
        }
        return nil
    }

    // MARK: Posts only

    /// Resolves a word to a source. A file, or a directory without `source.toml`, never hides a source of the same name
    /// elsewhere. Waits a moment for a source that the agent has not seen yet.
    ///
    /// - Throws: `ControlError`, or `CommandFailure.noSuchFile` if the word names no source.
    mutating func findSource(_ word: String) async throws -> SourceEntry {
        let candidates = link.place.candidates(for: link.surroundings.bytes(of: word))
        let paths = candidates.map(\.path) + [RelativePath(shown: word)].compactMap(\.self)
        let source = try await poll(for: Self.patience) { (finder: inout TargetFinder) -> SourceEntry? in
            finder.knownSources = nil
            let source = try await finder.source(at: paths)
            if source == nil,
                let outer = try await finder.sources().first(where: { post in
                    post.relativePath.map { place in paths.contains { $0 != place && $0.isWithin(place) } } ?? false
                })
            {
                throw CommandFailure.partOfPost(name: word, post: outer.path)
            }
            guard source != nil || candidates.contains(where: { finder.link.place.isSource($0.path) }) else {
                throw CommandFailure.noSuchFile(name: word, reason: finder.reasonForNoSource(candidates))
            }
            return source
        }
        if let source { return source }
        throw CommandFailure.tryAgain(
            "\(DisplayText.escaped(word)): the agent has not seen this post yet; run `outbox doctor`, then try again")
    }

    private func reasonForNoSource(_ candidates: [OutboxPlace.Candidate]) -> String {
        let outbox = DisplayText.escaped(link.configuration.outbox)
        let name = SourceReport.descriptionName
        if candidates.contains(where: { $0.path.bytes.isEmpty }) {
            return "the outbox itself can't be a post; create a directory in it, with a \(name)"
        }
        if let directory = candidates.first(where: { $0.kind == .directory })?.path {
            let file = ShellWord.text("\(link.configuration.outbox)/\(directory)/\(name)")
            return "the directory has no \(name); create one to make it a post: echo 'title = \"A title\"' > \(file)"
        }
        guard candidates.contains(where: { $0.kind == .file }) else {
            return "no such directory in \(outbox); a post is a directory there with a \(name)"
        }
        return "this is a file; a post is a directory in \(outbox) with a \(name)"
    }

    /// Repeats a question until it has an answer.
    ///
    /// - Returns: The answer; nil if there was none within the patience.
    private mutating func poll<Answer>(
        for patience: Duration, _ question: (inout TargetFinder) async throws -> Answer?
    ) async throws -> Answer? {
        var pace = PollPace()
        while true {
            pace.ask()
            if let answer = try await question(&self) { return answer }
            guard pace.elapsed < patience else { return nil }
            try await pace.rest(until: patience)
        }
    }
}
