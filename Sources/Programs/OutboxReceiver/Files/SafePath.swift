/// A sanitized path from a client. Its components can be created below a directory and cannot escape that directory.
struct SafePath: Equatable, Sendable {
    /// In bytes: the limit of Linux file systems, minus room for ` (123)`.
    private static let longestName = 240
    static let deepest = 32

    /// Directories, outermost first.
    let folders: [String]
    let name: String

    var text: String { (folders + [name]).joined(separator: "/") }

    /// Sanitizes `path`, or `fileName` if `path` has no usable component. Drops empty components, `.` and `..`.
    /// Replaces control characters, and those that turn the direction of a text, by `_`. Cuts long names but keeps their extension.
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
                scalars.append(Self.isControl(scalar) ? "_" : scalar)
            }
            let name = String(scalars)
            return name == "." || name == ".." ? nil : cut(name)
        }
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x061C, 0x200B, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
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

    /// Returns the name to try next if `name` is taken, with ` (2)` and so on before the extension.
    static func numbered(_ name: String, _ number: Int) -> String {
        guard number > 1 else { return name }
        let (stem, suffix) = split(name)
        return "\(stem) (\(number))\(suffix)"
    }

    /// Splits off the extension with its dot, if the extension is at most 16 bytes long.
    private static func split(_ name: String) -> (stem: Substring, suffix: Substring) {
        guard let dot = name.unicodeScalars.lastIndex(of: "."), dot != name.startIndex,
            name[dot...].utf8.count <= 16
        else { return (name[...], "") }
        return (name[..<dot], name[dot...])
    }
}
