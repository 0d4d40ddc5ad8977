/// A path from a client, made harmless: components that can be created below a directory and lead nowhere else.
struct SafePath: Equatable, Sendable {
    /// What a Linux file system allows, less room for ` (123)`.
    private static let longestName = 240
    private static let deepest = 32

    /// Directories, outermost first.
    let folders: [String]
    let name: String

    /// Takes `path`, or `fileName` where there is no usable path. Empty components, `.` and `..` are dropped, control
    /// characters become `_`, names that are too long are cut keeping their extension.
    init(path: String?, fileName: String) {
        var components = Self.components(of: path ?? "")
        if components.isEmpty { components = Self.components(of: fileName) }
        name = components.popLast() ?? "unnamed"
        folders = Array(components.prefix(Self.deepest))
    }

    private static func components(of path: String) -> [String] {
        path.unicodeScalars.split(separator: "/").compactMap { component in
            var scalars = String.UnicodeScalarView()
            for scalar in component {
                scalars.append(scalar.value < 0x20 || scalar.value == 0x7f ? "_" : scalar)
            }
            let name = String(scalars)
            return name == "." || name == ".." ? nil : cut(name)
        }
    }

    private static func cut(_ name: String) -> String {
        guard name.utf8.count > longestName else { return name }
        let (stem, suffix) = split(name)
        var head = stem.unicodeScalars
        var length = stem.utf8.count
        while length > longestName - suffix.utf8.count, let last = head.popLast() {
            length -= UTF8.width(last)
        }
        return String(head) + suffix
    }

    /// The name that is tried when `name` is taken: ` (2)` and so on before the extension.
    static func numbered(_ name: String, _ number: Int) -> String {
        guard number > 1 else { return name }
        let (stem, suffix) = split(name)
        return "\(stem) (\(number))\(suffix)"
    }

    /// The extension, if it is short enough to be one, with its dot.
    private static func split(_ name: String) -> (stem: Substring, suffix: Substring) {
        guard let dot = name.unicodeScalars.lastIndex(of: "."), dot != name.startIndex,
            name[dot...].utf8.count <= 16
        else { return (name[...], "") }
        return (name[..<dot], name[dot...])
    }
}
