import SystemPackage

/// Finds contents in the journal of a receiver, which may be running and appending to it.
///
/// Keeps only what matches, so the memory depends on the matches and not on the journal.
struct JournalSearch {
    let pattern: NamePattern
    /// Nil: all users.
    let user: String?

    private var found: [Hex128: Content] = [:]
    /// The tokens of the found contents: an object has one content (``Catalog/add(_:)-(Content)``).
    private var tokens: [ObjectName: Hex128] = [:]

    init(pattern: NamePattern, user: String?) {
        self.pattern = pattern
        self.user = user
    }

    /// Returns the contents that may match (``NamePattern/mayMatch(_:)``), the newest first. Skips torn lines, such as one
    /// that the receiver is just writing.
    static func contents(in root: Folder, _ pattern: NamePattern, user: String?) throws(Errno) -> [Content] {
        var search = JournalSearch(pattern: pattern, user: user)
        _ = try Journal.read(root, only: [.content, .finished]) { search.replay($0) }
        return search.newestFirst
    }

    private mutating func replay(_ entry: JournalEntry) {
        switch entry {
        case .content(let content): replay(content)
        case .finished(_, _, let token, let time):
            // An older version stored contents without a time.
            if let content = found[token], content.at == nil { found[token]?.at = time }
        default: break
        }
    }

    /// A later line about the same token or object replaces the earlier one.
    private mutating func replay(_ content: Content) {
        for token in [content.token, tokens[content.object]].compactMap({ $0 }) {
            if let former = found.removeValue(forKey: token) { tokens[former.object] = nil }
        }
        guard user == nil || content.key.user == user, pattern.mayMatch(content) else { return }
        found[content.token] = content
        tokens[content.object] = content.token
    }

    private var newestFirst: [Content] {
        found.values.sorted { left, right in
            let (first, second) = (left.at ?? 0, right.at ?? 0)
            // Files of one second have an order too, the same each time.
            return first == second ? (left.name, left.token.high) < (right.name, right.token.high) : first > second
        }
    }
}
