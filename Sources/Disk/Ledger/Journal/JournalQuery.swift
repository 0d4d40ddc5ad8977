import Text
public import UploadCore

/// Which rows of the journal are wanted.
public struct JournalQuery: Equatable, Sendable {
    /// Names: the last part of a path, or more of its end, as globs; or keys of contents. Empty: all rows.
    public var names: [String]
    /// The outcomes wanted; nil for all but those of the agent itself.
    public var outcomes: Set<JournalRow.Outcome>?
    /// Rows of this time or later; nil for all.
    public var since: WallTime?
    /// Rows before this time; nil for all.
    public var until: WallTime?
    /// Rows before this number only; nil for all.
    public var before: UInt64?
    /// The maximum number of rows, the latest.
    public var limit: Int

    /// Creates a query.
    public init(
        names: [String] = [], outcomes: Set<JournalRow.Outcome>? = nil, since: WallTime? = nil,
        until: WallTime? = nil, before: UInt64? = nil, limit: Int = .max
    ) {
        (self.names, self.outcomes, self.since, self.until) = (names, outcomes, since, until)
        (self.before, self.limit) = (before, limit)
    }

    /// Whether a row is wanted, whatever its name.
    func concerns(_ entry: JournalEntry) -> Bool {
        if let before, entry.number >= before { return false }
        let time = entry.row.time.milliseconds
        if let since, time < since.milliseconds { return false }
        if let until, time >= until.milliseconds { return false }
        return outcomes?.contains(entry.row.outcome) ?? (entry.row.subject != .agent)
    }
}

/// A name as a person gives it: the last part of a path, or more of its end. ASCII letters match in either case.
struct JournalName {
    private let parts: [GlobPattern]
    /// The content with this key, if the name is one.
    private let key: ContentKey?
    /// The bytes that each matching name begins with in the index; empty if there are none.
    let prefix: [UInt8]

    /// - Returns: nil if no path can match.
    init?(_ text: String) {
        let words = text.split(separator: "/").filter { $0 != "." }
        parts = words.compactMap { GlobPattern(String(decoding: $0.utf8.map(\.lowercased), as: UTF8.self)) }
        guard let last = words.last, parts.count == words.count else { return nil }
        key = ContentKey(hexadecimal: text)
        let literal = last.utf8.prefix { !"*?[\\".utf8.contains($0) }
        let isWhole = literal.count == last.utf8.count
        // A whole name shorter than the indexed part ends there.
        let indexed = JournalTable.indexed(literal)
        prefix = isWhole && indexed.count == literal.count ? indexed + [0] : indexed
    }

    /// Whether the index of names can't help.
    var needsWalk: Bool { key != nil || prefix.isEmpty }

    /// Whether a row may match; judges without decoding it, since most rows don't.
    func mayMatch(_ row: JournalTable.StoredRow) -> Bool {
        guard key == nil, row.place == nil, let last = parts.last else { return true }
        let path = row.path
        let start = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
        return last.matches(name: path[start...].map(\.lowercased)[...])
    }

    func matches(_ entry: JournalEntry) -> Bool {
        if let key { return entry.row.key == key || entry.row.sent?.key == key }
        return matches(entry.row.path) || entry.place.map(matches) ?? false
    }

    private func matches(_ path: RelativePath) -> Bool {
        let components = path.bytes.split(separator: UInt8(ascii: "/")).suffix(parts.count)
        return components.count == parts.count
            && zip(parts, components).allSatisfy { $0.matches(name: $1.map(\.lowercased)[...]) }
    }
}
