/// The paths below `files/USER/` under which a content arrived, the earliest first.
///
/// One text rather than an array, because most of a million contents have one path. The names of a ``SafePath`` contain
/// no line feed.
struct ArrivalPaths: Equatable, Sendable {
    /// In bytes. A longer list forgets its earliest paths, because the journal repeats the whole list with each new path.
    static let longest = 8192

    /// The paths, separated by line feeds.
    private(set) var text: String

    init(text: String = "") {
        self.text = text
    }

    var all: [Substring] { text.unicodeScalars.split(separator: "\n").map { Substring($0) } }

    /// Adds paths at the end. Returns false if the list has all of them already.
    mutating func add(_ paths: some Sequence<some StringProtocol>) -> Bool {
        // Bytes: == takes different names with the same letters (Unicode's canonical equivalence) for equal.
        var known = Set(text.utf8.split(separator: UInt8(ascii: "\n")).map(Array.init))
        let new = paths.filter { known.insert(Array($0.utf8)).inserted }
        guard !new.isEmpty else { return false }
        text = ((text.isEmpty ? [] : [text]) + new.map { String($0) }).joined(separator: "\n")
        while text.utf8.count > Self.longest, let end = text.utf8.firstIndex(of: UInt8(ascii: "\n")) {
            text = String(text[text.utf8.index(after: end)...])
        }
        return true
    }
}
