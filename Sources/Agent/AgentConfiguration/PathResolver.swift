/// Makes the paths of the configuration absolute.
///
/// Works on text only, without looking at a file system: `..` removes the preceding part.
package struct PathResolver: Sendable {
    /// Maximum length of a path in bytes, without the terminator (`PATH_MAX`, man 3 limits.h).
    static let longestPath = 4095

    /// The replacement for `~`; absolute.
    let home: String
    /// The base of relative paths; absolute.
    let directory: String

    /// Returns the absolute form of `path`, without `.`, `..`, or doubled and trailing slashes.
    func resolve(_ path: String) throws(Objection) -> String {
        guard !path.isEmpty else { throw Objection("must not be empty") }
        guard !path.utf8.contains(0) else { throw Objection("must not hold a NUL") }
        let absolute: String
        if path == "~" || path.hasPrefix("~/") {
            absolute = home + path.dropFirst()
        } else if path.hasPrefix("~") {
            throw Objection("~ means your own home directory only; write another one in full (a name with ~: ./~…)")
        } else {
            absolute = path.hasPrefix("/") ? path : directory + "/" + path
        }
        let normal = Self.normalise(absolute)
        guard normal.utf8.count <= Self.longestPath else { throw Objection("is longer than \(Self.longestPath) bytes") }
        return normal
    }

    package static func normalise(_ absolute: String) -> String {
        var parts: [Substring] = []
        for part in absolute.split(separator: "/") {
            switch part {
            case ".": continue
            case "..": _ = parts.popLast()
            default: parts.append(part)
            }
        }
        return "/" + parts.joined(separator: "/")
    }

    /// Whether `path` is `directory` or lies below it. Both must be normalised.
    package static func lies(_ path: String, in directory: String) -> Bool {
        path == directory || directory == "/" || path.utf8.starts(with: (directory + "/").utf8)
    }

    /// Checks a path inside the outbox: relative, with plain names only.
    static func insideOutbox(_ path: String) throws(Objection) -> String {
        guard !path.hasPrefix("/"), !path.hasPrefix("~") else { throw Objection("must be relative to the outbox") }
        let parts = path.split(separator: "/").filter { $0 != "." }
        guard !parts.isEmpty else { throw Objection("must name a directory inside the outbox") }
        guard !parts.contains("..") else { throw Objection("must stay inside the outbox: no \"..\"") }
        guard !parts.contains(where: { $0.hasPrefix(".") }) else { throw Objection("must not be a hidden directory") }
        guard !path.utf8.contains(0), parts.allSatisfy({ $0.utf8.count <= 255 }) else {
            throw Objection("is not a legal name")
        }
        return parts.joined(separator: "/")
    }
}
