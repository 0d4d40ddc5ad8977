import Console
import ControlAPI
import Reports
import UploadCore

/// Follows the agent's files, or its posts, from one poll to the next. Requests only active ones, and those that stopped
/// being active.
struct Follower<Entry: SubjectEntry> {
    /// The changes since the last poll.
    struct News {
        /// Entries that ended.
        var ended: [Entry] = []
        /// Number of further entries that ended, and were not requested individually. If the agent listed all active
        /// entries, includes those that vanished.
        var uncounted = 0
    }

    private let client: ControlClient
    private let mostQuestions: Int
    private let directory: RelativePath
    private(set) var mirror = Mirror<Entry>()
    /// Number of all files by state at the last question with a limit; nil if the last question had none.
    private(set) var counts: [String: Int]?
    /// The states of which the last answer left out active files.
    private var cutStates: Set<String> = []
    /// Whether the last answer left out active files.
    var isCut: Bool { !cutStates.isEmpty }
    private var finished = FinishedCount()

    /// - Parameters:
    ///   - mostQuestions: Maximum number of ended entries to request individually after one poll.
    ///   - directory: The directory whose entries to follow.
    init(_ client: ControlClient, mostQuestions: Int = .max, below directory: RelativePath = .root) {
        self.client = client
        self.mostQuestions = mostQuestions
        self.directory = directory
    }

    /// Reads the entries in one of the given states, or all entries if nil.
    ///
    /// - Parameter limit: Maximum number of active entries of each state; nil for all.
    mutating func readAll(in states: Set<Entry.State>? = nil, atMost limit: Int? = nil) async throws(ControlError) {
        guard limit != nil else {
            let list: EntryList<Entry> = try await client.entries(ListQuery(states: states, below: directory))
            note(list)
            return mirror.replaceAll(list.entries)
        }
        let active = try await active(atMost: limit).entries
        let final = (states ?? Set(Entry.State.allCases)).filter(\.isFinal)
        let rest: EntryList<Entry> = try await client.entries(ListQuery(states: final, below: directory))
        mirror.replaceAll(active + rest.entries)
    }

    private mutating func active(atMost limit: Int?) async throws(ControlError) -> EntryList<Entry> {
        let list: EntryList<Entry> = try await client.entries(
            ListQuery(states: Mirror<Entry>.activeStates, below: directory, atMost: limit))
        note(list)
        return list
    }

    private mutating func note(_ list: EntryList<Entry>) {
        counts = list.counts
        cutStates = list.cutStates
    }

    /// Returns the number of entries in a state.
    func count(_ state: Entry.State) async throws(ControlError) -> Int {
        let list: EntryList<Entry> = try await client.entries(
            ListQuery(states: [state], below: directory, atMost: 0))
        return list.counts?[state.word] ?? 0
    }

    /// Stores an answer about one entry.
    mutating func note(_ entry: Entry) { mirror.replace(entry.id, with: entry) }

    /// Reads the active entries, and the outcome of entries that are no longer active.
    ///
    /// - Parameter limit: Maximum number of active entries of each state; nil for all.
    mutating func readActive(atMost limit: Int? = nil) async throws(ControlError) -> News {
        let wasCut = isCut
        let list = try await active(atMost: limit)
        let vanished = mirror.replaceActive(list.entries, cutStates: cutStates)
        var news = News()
        for id in vanished.prefix(mostQuestions) {
            let entry: Entry? = try await client.entry(id: id)
            mirror.replace(id, with: entry)
            if let entry, entry.isFinal { news.ended.append(entry) }
        }
        for id in vanished.dropFirst(mostQuestions) { mirror.replace(id, with: nil) }
        news.uncounted = max(0, vanished.count - mostQuestions)
        if let count = list.finalCount {
            let further = finished.further(count, besides: news.ended.count)
            if wasCut || isCut { news.uncounted = further }
        }
        return news
    }
}

extension Follower<FileEntry> {
    /// Number of active files of each state that a display and a wait need. A million may be queued.
    static let mostActive = 1000

    /// Follows the files. A thousand small files may end between two polls.
    init(filesOf client: ControlClient, below directory: RelativePath = .root) {
        self.init(client, mostQuestions: 50, below: directory)
    }
}
