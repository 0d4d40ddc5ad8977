import Console
import ControlAPI
import Reports
import UploadCore

/// Follows the agent's sources from one poll to the next. Requests only sources that are not final, and sources that
/// became final.
struct SourceFollower {
    private let client: ControlClient
    private var byID: [String: SourceEntry] = [:]
    private var active: Set<String> = []

    private static let activeStates = Set(SourceState.allCases.filter { !$0.isFinal })

    init(_ client: ControlClient) {
        self.client = client
    }

    /// The sources, ordered by directory.
    var sources: [SourceEntry] { byID.values.sorted { $0.path < $1.path } }

    /// The sources that are not final, ordered by directory.
    var activeSources: [SourceEntry] { sources.filter { active.contains($0.id) } }

    /// Reads all sources.
    mutating func readAll() async throws(ControlError) {
        let sources = try await client.sources()
        byID = Dictionary(sources.map { ($0.id, $0) }) { $1 }
        active = Set(sources.lazy.filter { !$0.isFinal }.map(\.id))
    }

    /// Reads the sources that are not final, and the outcome of sources that no longer belong to these.
    ///
    /// - Returns: Sources that ended.
    mutating func readActive() async throws(ControlError) -> [SourceEntry] {
        let sources = try await client.sources(in: Self.activeStates)
        let now = Set(sources.map(\.id))
        for source in sources { byID[source.id] = source }
        var ended: [SourceEntry] = []
        for id in active.subtracting(now).sorted() {
            byID[id] = try await client.source(id)
            if let source = byID[id], source.isFinal { ended.append(source) }
        }
        active = now
        return ended
    }
}
