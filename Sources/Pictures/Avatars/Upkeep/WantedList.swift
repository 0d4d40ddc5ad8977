import PictureJobs

/// The content of `wanted.txt`: one URL per line, optionally followed by a space and a style. Empty lines and lines
/// that begin with # are ignored.
struct WantedList: Equatable, Sendable {
    /// An invalid line.
    struct Problem: Hashable, Sendable {
        /// Line number, starting at 1.
        var line: Int
        /// The error.
        var message: String
    }

    /// Maximum size of the file in bytes; longer files are not read.
    static let maximumLength = 8 << 20
    /// Maximum number of pictures. Each costs about a kilobyte of memory, which other users of the directory must not
    /// exhaust.
    static let mostWishes = 20_000
    /// Maximum number of reported lines.
    static let mostProblems = 100

    private static let byteOrderMark = "\u{FEFF}"

    /// The pictures in the order of the lines, without duplicates.
    var wishes: [AvatarWish] = []
    /// Invalid lines.
    var problems: [Problem] = []

    /// Creates an empty list.
    init() {}

    /// Parses the file's text.
    ///
    /// - Parameter styles: The named styles.
    init(_ text: String, styles: [String: [PictureStep]]) {
        var seen: Set<AvatarWish> = []
        // Some editors begin a file with a mark of its byte order.
        var rest = text.hasPrefix(Self.byteOrderMark) ? text.dropFirst() : text[...]
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
                        "the list may have \(Self.mostWishes) pictures at most; this line and all below it are ignored"
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
        -> AvatarWish
    {
        if words.count > 2 {
            throw Unreadable(message: "a line has a URL and at most one style; write a space in a URL as %20")
        }
        guard let style = words.count < 2 ? .original : PictureStyle(String(words[1]), named: styles) else {
            throw Unreadable(
                message: "\"\(words[1])\" is not a style; use original, rect:WxH, round:WxH,r=R,b=B or a named style")
        }
        do {
            return AvatarWish(address: try AvatarAddress(String(words[0])), style: style)
        } catch {
            throw Unreadable(message: "\(error)")
        }
    }
}
