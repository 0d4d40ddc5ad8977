import Text
package import UploadCore

/// Rows of a ledger's journal, and their texts.
package struct Journal: Sendable {
    /// What the ids of this ledger's rows begin with.
    package var ledger: String
    package var entries: [JournalEntry]

    package init(ledger: String, entries: [JournalEntry] = []) { (self.ledger, self.entries) = (ledger, entries) }

    /// The id of a row, the same wherever the outcome is told.
    package func id(_ entry: JournalEntry) -> String { "\(ledger)-\(entry.number)" }

    /// The row as one line of JSON, stable for programs (docs/history.md).
    package func json(_ entry: JournalEntry, isTest: Bool = false) -> [UInt8] {
        var text = JSONText(layout: .line)
        text.object { text in
            text.member("id", id(entry))
            text.member("event", entry.row.event)
            text.member("time", Timestamp.text(entry.row.time))
            if isTest { text.member("test", true) }
            entry.row.write(into: &text)
            if let place = entry.place { text.member("now", place.description) }
        }
        return text.bytes
    }
}

extension JournalRow {
    /// What hooks ask for (`hook.on`).
    package var event: String {
        switch subject {
        case .file, .agent: outcome.word
        case .portrait, .post: "\(subject)"
        }
    }

    fileprivate func write(into text: inout JSONText) {
        if subject == .agent {
            if let error { text.member("message", error.message) }
            return
        }
        text.member("path", path.description)
        if let bytes = path.base64IfNotUTF8 { text.member("path_bytes", bytes) }
        text.member("state", outcome.word)
        if subject == .post { text.member("revision", revision) }
        if let key { text.member("key", key.description) }
        if let size { text.member("size", size) }
        if !type.isEmpty { text.member("type", type) }
        if let sent {
            text.nested("sent") { text in
                text.member("key", sent.key.description)
                text.member("size", sent.size)
                text.member("type", sent.type)
            }
        }
        if isDeduplicated { text.member("deduplicated", true) }
        if let sha256 { text.member("sha256", sha256.description) }
        if remote != RemoteObject(id: nil, url: nil) {
            text.nested("remote") { text in
                text.member("id", remote.id)
                text.member("url", remote.url)
            }
        }
        if let error {
            text.nested("error") { text in
                text.member("code", error.code)
                text.member("message", error.message)
            }
        }
    }
}

/// Sums of the journal, for `GET /v1/sums`.
package struct HistorySums: Codable, Equatable, Sendable {
    /// Since when the journal has rows, RFC 3339; `nil` if it has none.
    package var since: String?
    package var today: OutcomeSums.Sum
    /// Of today and the 29 days before.
    package var month: OutcomeSums.Sum
    package var all: OutcomeSums.Sum

    /// - Parameter today: the number of the present day.
    package init(_ sums: OutcomeSums, today: Int) {
        since = sums.since.map { Timestamp.text($0) }
        self.today = sums.sum(from: today)
        month = sums.sum(from: today - 29)
        all = sums.sum()
    }
}
