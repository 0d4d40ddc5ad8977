import Console
import ControlAPI
import Reports

/// Follows the agent's files, or its posts, from one poll to the next. Requests only active ones, and those that stopped
/// being active.
struct Follower<Entry: SubjectEntry> {
    /// The changes since the last poll.
    struct News {
        /// Entries that ended.
        var ended: [Entry] = []
        /// Number of further entries that ended or vanished, and were not requested individually.
        var uncounted = 0
    }

    private let client: ControlClient
    private let mostQuestions: Int
    private(set) var mirror = Mirror<Entry>()

    /// - Parameter mostQuestions: Maximum number of ended entries to request individually after one poll.
    init(_ client: ControlClient, mostQuestions: Int = .max) {
        self.client = client
        self.mostQuestions = mostQuestions
    }

    /// Reads all entries.
    mutating func readAll() async throws(ControlError) {
        mirror.replaceAll(try await client.entries(in: nil))
    }

    /// Stores an answer about one entry.
    mutating func note(_ entry: Entry) { mirror.replace(entry.id, with: entry) }

    /// Reads the active entries, and the outcome of entries that are no longer active.
    mutating func readActive() async throws(ControlError) -> News {
        let vanished = mirror.replaceActive(try await client.entries(in: Mirror<Entry>.activeStates))
        var news = News()
        for id in vanished.prefix(mostQuestions) {
            let entry: Entry? = try await client.entry(id: id)
            mirror.replace(id, with: entry)
            if let entry, entry.isFinal { news.ended.append(entry) }
        }
        for id in vanished.dropFirst(mostQuestions) { mirror.replace(id, with: nil) }
        news.uncounted = max(0, vanished.count - mostQuestions)
        return news
    }
}

extension Follower<FileEntry> {
    /// Follows the files. A thousand small files may end between two polls.
    init(filesOf client: ControlClient) {
        self.init(client, mostQuestions: 50)
    }
}
