/// A file that a search in the journal found.
struct FoundFile {
    /// Whether the object of a file is there now.
    enum State: String {
        /// The bytes were read and have the recorded digests.
        case whole
        /// The object is there and has the recorded size. Its bytes were not read.
        case there
        /// The object has another size or other bytes, or the disk cannot read it.
        case damaged
        case missing
    }

    let content: Content
    /// Below `files/USER/`: the present path, or the recorded one if no link leads to the object.
    let path: String
    let url: String

    func json(_ state: State) -> JSON {
        let members: [(String, JSON)] = [
            ("path", .string(path)), ("user", .string(content.key.user)), ("size", .integer(content.key.size)),
            ("md5", .string(content.key.md5.description)),
            ("time", content.at.map { .string(ClockTime.universal($0)) } ?? .null), ("url", .string(url)),
            ("state", .string(state.rawValue)),
        ]
        return .object(members.map { JSON.Member(name: $0.0, value: $0.1) })
    }

    // MARK: Columns

    /// The columns of a line for people, but the state.
    private var columns: [String] {
        [
            content.at.map { ClockTime.local($0) } ?? "unknown", LogText.escaped(content.key.user),
            FileSize.text(content.key.size), content.key.md5.description, LogText.escaped(path),
        ]
    }

    /// The widths of the columns of lines for people.
    static func widths(_ files: [FoundFile]) -> [Int] {
        files.reduce(into: [0, 0, 0, 0, 0]) { widths, file in
            widths = zip(widths, file.columns).map { max($0, $1.count) }
        }
    }

    /// Returns the line for people, with spaces between the columns.
    func line(_ state: State, widths: [Int]) -> String {
        let padded = zip([state.rawValue] + columns, [State.damaged.rawValue.count] + widths).map { text, width in
            text + String(repeating: " ", count: width - text.count)
        }
        return (padded + [url]).joined(separator: "  ")
    }
}
