import PictureJobs

/// What `wanted.txt` says: one URL per line, optionally a style after a space. Empty lines and those that begin with #
/// mean nothing.
struct WantedList: Equatable, Sendable {
    /// A line that can't be read.
    struct Problem: Hashable, Sendable {
        /// Counted from 1.
        var line: Int
        /// What is wrong with it.
        var message: String
    }

    /// Longer files are not read, in bytes.
    static let maximumLength = 64 << 20

    /// The pictures, in the order of the lines, each once.
    var wishes: [AvatarDesk.Wish] = []
    /// Lines that can't be read.
    var problems: [Problem] = []

    /// Nothing is wanted.
    init() {}

    /// Reads the file's text.
    ///
    /// - Parameter styles: the named ones.
    init(_ text: String, styles: [String: [PictureStep]]) {
        var seen: Set<AvatarDesk.Wish> = []
        let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
        for (index, line) in lines.enumerated() {
            let words = line.split { $0 == " " || $0 == "\t" || $0 == "\r" }
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            do {
                let wish = try Self.wish(words, styles)
                if seen.insert(wish).inserted { wishes.append(wish) }
            } catch {
                problems.append(Problem(line: index + 1, message: error.message))
            }
        }
    }

    private struct Unreadable: Error {
        let message: String
    }

    private static func wish(_ words: [Substring], _ styles: [String: [PictureStep]]) throws(Unreadable)
        -> AvatarDesk.Wish
    {
        if words.count > 2 { throw Unreadable(message: "more than a URL and a style; spaces in a URL are %20") }
        guard let style = words.count < 2 ? .original : PictureStyle(String(words[1]), named: styles) else {
            throw Unreadable(
                message: "\"\(words[1])\" is no style: original, rect:WxH, round:WxH,r=R,b=B or a named one")
        }
        do {
            return AvatarDesk.Wish(address: try AvatarAddress(String(words[0])), style: style)
        } catch {
            throw Unreadable(message: "\(error)")
        }
    }
}
