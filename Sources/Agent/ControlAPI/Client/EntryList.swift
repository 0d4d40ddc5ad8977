package import Reports

/// The agent's answer to a question for files or posts.
package struct EntryList<Entry: SubjectEntry>: Decodable, Sendable {
    package var entries: [Entry]
    /// The number of all files by state, whether listed or not; nil if the question had no limit.
    package var counts: [String: Int]?

    package init(entries: [Entry], counts: [String: Int]? = nil) {
        (self.entries, self.counts) = (entries, counts)
    }

    private struct Member: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) { stringValue = name }
        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { nil }
    }

    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Member.self)
        entries = try members.decode([Entry].self, forKey: Member(Entry.noun + "s"))
        counts = try members.decodeIfPresent([String: Int].self, forKey: Member("counts"))
    }

    /// The states that are not final and have more files than the agent listed.
    package var cutStates: Set<String> {
        guard let counts else { return [] }
        let listed = entries.reduce(into: [String: Int]()) { $0[$1.state, default: 0] += 1 }
        return Set(
            counts.filter { state, count in
                Entry.State(word: state)?.isFinal == false && count > listed[state] ?? 0
            }.keys)
    }

    /// Whether the agent knows more files of states that are not final than it listed.
    package var isCut: Bool { !cutStates.isEmpty }

    /// The number of all files in final states, whether listed or not; nil if the question had no limit.
    package var finalCount: Int? {
        counts?.reduce(0) { $0 + (Entry.State(word: $1.key)?.isFinal == true ? $1.value : 0) }
    }
}
