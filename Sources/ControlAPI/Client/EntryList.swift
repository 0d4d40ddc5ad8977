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

    /// Whether the agent knows more files of states that are not final than it listed.
    package var isCut: Bool {
        guard let counts else { return false }
        let active = counts.reduce(0) { $0 + (Entry.State(word: $1.key)?.isFinal == false ? $1.value : 0) }
        return active > entries.count { Entry.State(word: $0.state)?.isFinal == false }
    }
}
