import AgentConfiguration
import AgentSupport
import Console
import ControlAPI
import Reports
import UploadCore

/// Resolves a word on the command line to a source. Waits a moment for a source that the agent has not seen yet.
struct SourceFinder {
    private let link: AgentLink

    /// How long to wait for a source: an agent busy with a large scan needs longer than usual.
    private static let patience = Duration.seconds(10)

    init(_ link: AgentLink) {
        self.link = link
    }

    /// Returns the source in a directory.
    ///
    /// - Throws: `ControlError`, or `CommandFailure.noSuchFile` if the word names no source.
    func source(named word: String) async throws -> SourceEntry {
        let candidates = link.place.candidates(for: link.surroundings.bytes(of: word))
        let paths = candidates.map(\.path) + [RelativePath(shown: word)].compactMap(\.self)
        var pace = PollPace()
        while true {
            pace.ask()
            let sources = try await link.client.sources()
            for path in paths {
                if let source = sources.first(where: { $0.relativePath == path }) { return source }
            }
            guard candidates.contains(where: { link.place.isSource($0.path) }) else {
                throw CommandFailure.noSuchFile(name: word, reason: reason(candidates, word))
            }
            guard pace.elapsed < Self.patience else {
                throw CommandFailure.tryAgain(
                    "\(DisplayText.escaped(word)): the agent has not seen this post yet; run `outbox doctor`, then try again"
                )
            }
            try await pace.rest(until: Self.patience)
        }
    }

    private func reason(_ candidates: [OutboxPlace.Candidate], _ word: String) -> String {
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
}
