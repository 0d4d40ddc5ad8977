import Console
import ControlAPI
import Reports
import UploadCore

/// Follows the agent's files from one poll to the next. Requests only active files, and files that stopped being
/// active.
struct FileFollower {
    /// The changes since the last poll.
    struct News {
        /// Files that ended.
        var ended: [FileEntry] = []
        /// Number of further files that ended or vanished, and were not requested individually.
        var uncounted = 0
    }

    private let client: ControlClient
    private(set) var mirror = FileMirror()

    /// Maximum number of ended files to request individually after one poll.
    private static let mostQuestions = 50

    init(_ client: ControlClient) {
        self.client = client
    }

    /// Reads all files.
    mutating func readAll() async throws(ControlError) {
        mirror.replaceAll(try await client.files())
    }

    /// Stores an answer about one file.
    mutating func note(_ file: FileEntry) { mirror.replace(file.id, with: file) }

    /// Reads the active files, and the outcome of files that are no longer active.
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
