import AgentKit
import UploadCore

/// Follows the agent's files from one question to the next, asking for those that are under way and for what became of
/// them.
struct FileFollower {
    /// What happened since the question before.
    struct News {
        /// Files that ended.
        var ended: [FileEntry] = []
        /// How many more ended, or went, that were not asked about one by one.
        var uncounted = 0
    }

    private let client: ControlClient
    private(set) var mirror = FileMirror()

    /// When more files than this end between two questions, they are not asked about one by one.
    private static let mostQuestions = 50

    init(_ client: ControlClient) {
        self.client = client
    }

    /// Reads every file there is.
    mutating func readAll() async throws(ControlError) {
        mirror.replaceAll(try await client.files())
    }

    /// Takes in an answer about one file.
    mutating func note(_ file: FileEntry) { mirror.replace(file.id, with: file) }

    /// Reads the files that are under way, and what became of those that no longer are.
    mutating func readActive() async throws(ControlError) -> News {
        let vanished = mirror.replaceActive(try await client.files(in: FileMirror.activeStates))
        var news = News()
        for id in vanished.prefix(Self.mostQuestions) {
            let file = try await client.file(id: id)
            mirror.replace(id, with: file)
            if let file, file.isFinal { news.ended.append(file) }
        }
        for id in vanished.dropFirst(Self.mostQuestions) { mirror.replace(id, with: nil) }
        news.uncounted = max(0, vanished.count - Self.mostQuestions)
        return news
    }
}
