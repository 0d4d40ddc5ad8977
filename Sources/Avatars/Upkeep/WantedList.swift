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
    static let maximumLength = 8 << 20
    /// So many pictures are kept mirrored; each costs about a kilobyte of memory, which other users of the directory must
    /// not be able to use up.
    static let mostWishes = 20_000
    /// So many lines are complained about.
    static let mostProblems = 100

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
        var rest = text[...]
        var number = 0
        while !rest.isEmpty {
            number += 1
            let line = rest.prefix { $0 != "\n" && $0 != "\r\n" }
            rest = rest[line.endIndex...].dropFirst()
            let words = line.split { $0 == " " || $0 == "\t" || $0 == "\r" }
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            do {
                let wish = try Self.wish(words, styles)
                if seen.contains(wish) { continue }
                if wishes.count == Self.mostWishes {
                    let reason =
                        "\(Self.mostWishes) pictures are wanted above, the most there may be; all below are left out"
                    problems.append(Problem(line: number, message: reason))
                    break
                }
                seen.insert(wish)
                wishes.append(wish)
            } catch {
                if problems.count < Self.mostProblems { problems.append(Problem(line: number, message: error.message)) }
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
