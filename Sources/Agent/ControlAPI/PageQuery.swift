import Hummingbird
package import Reports
package import UploadCore

/// Which page of all files a client asks for: `GET /v1/files?page=200` (docs/http.md).
package struct PageQuery: Sendable {
    /// The maximum number of files.
    package var size: Int
    /// The states; `nil` for all.
    package var states: Set<FileState>?
    /// Only files in this directory.
    package var directory: RelativePath
    package var search: PathSearch
    /// The place after which the page begins; `nil` for the first page.
    package var start: PagePlace?

    package init(
        size: Int, states: Set<FileState>? = nil, below directory: RelativePath = .root, search: String = "",
        after start: PagePlace? = nil
    ) {
        (self.size, self.states, self.directory, self.start) = (size, states, directory, start)
        self.search = PathSearch(search)
    }

    /// Reads the parameters of a request; `nil` if the client does not ask for a page.
    ///
    /// - Throws: `ControlRefusal` for a malformed parameter.
    init?(_ request: Request) throws {
        let parameters = request.uri.queryParameters
        guard let text = parameters.get("page") else { return nil }
        guard let size = Int(text), (1...1000).contains(size) else {
            throw ControlRefusal(.badRequest, "malformed_page", "\(text) is not a page; it has 1 to 1000 files")
        }
        let list = try ListQuery<FileState>(request)
        self.init(
            size: size, states: list.states, below: list.directory, search: parameters.get("search") ?? "")
        if let text = parameters.get("after"), !text.isEmpty {
            guard let place = PagePlace(text) else {
                throw ControlRefusal(
                    .badRequest, "malformed_page", "\(text) is not a place; `next` of the page before has it")
            }
            start = place
        }
    }

    /// Whether a file with this path is wanted, regardless of its state.
    package func matches(_ path: UnsafeRawBufferPointer) -> Bool {
        let top = directory.bytes
        if !top.isEmpty {
            guard path.starts(with: top), path.count == top.count || path[top.count] == UInt8(ascii: "/") else {
                return false
            }
        }
        return search.finds(path)
    }
}

/// A place in the list of all files: those that came or ended last stand first.
package struct PagePlace: Equatable, Sendable {
    /// When the file ended, or came if it has not ended, in milliseconds since 1970.
    package var time: Int64
    /// The file's id.
    package var id: String

    package init(time: Int64, id: String) {
        (self.time, self.id) = (time, id)
    }

    /// Reads `description`.
    init?(_ text: String) {
        guard let dash = text.lastIndex(of: "-"), let time = Int64(text[..<dash]) else { return nil }
        self.init(time: time, id: String(text[text.index(after: dash)...]))
    }

    var description: String { "\(time)-\(id)" }
}

/// Finds a text in paths, in capitals or not.
package struct PathSearch: Sendable {
    private let text: [UInt8]

    init(_ text: String) { self.text = Array(text.lowercased().utf8) }

    package func finds(_ path: UnsafeRawBufferPointer) -> Bool {
        if text.isEmpty { return true }
        guard path.allSatisfy({ $0 < 0x80 }) else {
            return Self.contains(Array(String(decoding: path, as: UTF8.self).lowercased().utf8), text)
        }
        return Self.contains(path.lazy.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, text)
    }

    private static func contains<Text: RandomAccessCollection<UInt8>>(_ path: Text, _ text: [UInt8]) -> Bool {
        guard path.count >= text.count else { return false }
        return (0...(path.count - text.count)).contains { path.dropFirst($0).prefix(text.count).elementsEqual(text) }
    }
}

/// A page of all files.
package struct FilePage: Sendable {
    /// The files on the page, in order.
    package var reports: [FileReport]
    /// The number of files by state that match directory and search.
    package var counts: [FileState: Int]
    /// Where the next page begins; `nil` after the last one.
    package var next: PagePlace?

    package init(reports: [FileReport], counts: [FileState: Int], next: PagePlace?) {
        (self.reports, self.counts, self.next) = (reports, counts, next)
    }
}
